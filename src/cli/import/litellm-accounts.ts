import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { ImportedConfig } from './imported.ts';
import { type LiteLlmRows, type LiteLlmTable, rowsMax } from './litellm-database.ts';
import { limitsOf } from './litellm-limits.ts';
import { uniqueName } from './names.ts';
import type { Notes, Path } from './notes.ts';
import { isWritable, listOfTexts, plain } from './plain-values.ts';

/** Keys that LiteLLM's dashboard makes for each login. */
const dashboardTeam = 'litellm-dashboard';

const tokenTable = 'LiteLLM_VerificationToken';

/** Columns that say more than a key, a team or a user can here. */
const leftOut: Readonly<Record<string, string>> = {
  model_max_budget: 'a budget counts for all models here; tier_limits of a plan bound groups of models',
  budget_fallbacks: 'a spent budget refuses requests here',
  tpd_limit: 'there is no limit of tokens a day; plans have tokens in 5 hours, 7 and 30 days',
  soft_budget: 'plans.NAME.notify tells a webhook when a window fills up',
  aliases: 'names of models are the same for all keys',
  config: 'a key has no configuration of its own',
  router_settings: 'routing is the same for all keys',
  permissions: 'a key has no such permissions here',
  allowed_routes: 'a key opens all of /v1',
  policies: 'there are no policies',
  object_permission_id: 'MCP servers, agents and stores are not allowed by key here',
  project_id: 'there are no projects between team and key',
};

/** Members of `metadata` that change what LiteLLM does. */
const leftOutOfMetadata: Readonly<Record<string, string>> = {
  model_rpm_limit: 'rates count for all models of an account',
  model_tpm_limit: 'rates count for all models of an account',
  guardrails: 'there are no guardrails',
  tags: 'callers send x-culvert-tag',
  logging: '/metrics and the ledger have what callbacks got',
};

/** Accounts, plans and keys of a database. `models`: aliases of the new file with the access groups of each. */
export function importAccounts(
  { tables }: LiteLlmRows,
  groupsOfModels: ReadonlyMap<string, readonly string[]>,
  notes: Notes,
  nowMs: number,
): Pick<ImportedConfig, 'plans' | 'default_plan' | 'accounts' | 'keys'> {
  const budgets = new Map(tables.LiteLLM_BudgetTable.map((row) => [row.budget_id, row]));
  const groups = accessGroups(tables.LiteLLM_AccessGroupTable, groupsOfModels);
  const accounts: Record<string, JsonObject> = {};
  const plans: Record<string, JsonObject> = {};
  const keys: JsonObject[] = [];

  /** The account of a team or a user, by LiteLLM's id. */
  const made = new Map<string, string>();
  const accountOf = (table: LiteLlmTable, id: string, label: string, row: JsonObject): string => {
    const known = made.get(`${table}/${id}`);
    if (known !== undefined) return known;
    const name = uniqueName(label, accounts);
    made.set(`${table}/${id}`, name);
    const path = [table, label];
    noteLeftOut(row, path, notes);
    const models = modelsOf(row, groups, path, notes);
    const limits = { ...limitsOf(row, path, notes), ...(models !== null && models.length > 0 && { models }) };
    accounts[name] = { ...(name !== label && isWritable(label) && { name: plain(label.slice(0, 200)) }) };
    if (Object.keys(limits).length > 0) {
      plans[name] = { rpm: 'off', ...limits };
      accounts[name].plan = name;
    }
    if (row.blocked === true) accounts[name].status = 'suspended';
    return name;
  };

  for (const row of tables.LiteLLM_TeamTable) {
    const id = textOr(row.team_id, '');
    if (id !== '' && id !== dashboardTeam) accountOf('LiteLLM_TeamTable', id, textOr(row.team_alias, id), row);
  }
  const users = new Map(tables.LiteLLM_UserTable.map((row) => [row.user_id, row]));
  /** Of a key: its team's, else its user's, else one for all that have neither. */
  const ownerOf = (row: JsonObject): string => {
    const team = textOr(row.team_id, '');
    if (team !== '') return accountOf('LiteLLM_TeamTable', team, team, {});
    const user = textOr(row.user_id, '');
    if (user === '') return accountOf('LiteLLM_UserTable', '', 'litellm', {});
    const known = users.get(user) ?? {};
    return accountOf('LiteLLM_UserTable', user, textOr(known.user_email, textOr(known.user_alias, user)), known);
  };

  const taken = new Map<string, Record<string, unknown>>();
  for (const row of tables.LiteLLM_VerificationToken) {
    if (row.team_id === dashboardTeam) continue;
    const label = textOr(row.key_alias, textOr(row.key_name, 'key'));
    const path = [tokenTable, label];
    const why = whyNotTaken(row, nowMs);
    if (why !== null) {
      notes.add(path, `this key is not carried over: ${why}`);
      continue;
    }
    noteLeftOut(row, path, notes);
    const account = ownerOf(row);
    const names = taken.get(account) ?? {};
    taken.set(account, names);
    const name = uniqueName(label, names);
    names[name] = true;
    const models = modelsOf(row, groups, path, notes);
    const limits = limitsOf({ ...budgets.get(row.budget_id ?? ''), ...withoutNulls(row) }, path, notes);
    keys.push({
      sha256: row.token as string,
      account,
      name,
      ...(typeof row.expires === 'string' && { expires: `${row.expires.replace(/(Z|[+-]\d\d:?\d\d)$/, '')}Z` }),
      ...(models !== null && { models }),
      ...(Object.keys(limits).length > 0 && { limits }),
    });
  }
  noteOtherTables(tables, notes);
  if (Object.keys(accounts).length === 0) return {};
  // With plans, `default` has limits that LiteLLM did not have.
  const free = Object.keys(plans).length === 0 ? null : uniqueName('unlimited', plans);
  return {
    ...(free !== null && { plans: { ...plans, [free]: { rpm: 'off' } }, default_plan: free }),
    accounts,
    ...(keys.length > 0 && { keys }),
  };
}

function whyNotTaken({ token, blocked, expires }: JsonObject, nowMs: number): string | null {
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/.test(token)) {
    return 'the database holds no SHA-256 of it, so its caller needs a new one';
  }
  if (blocked === true) return 'it is blocked';
  const end = typeof expires === 'string' ? Date.parse(`${expires.replace(/(Z|[+-]\d\d:?\d\d)$/, '')}Z`) : nowMs + 1;
  if (Number.isNaN(end)) return 'its expiry is not a time';
  return end <= nowMs ? 'it has expired' : null;
}

/** By the name of a group, the aliases in it. */
function accessGroups(
  rows: readonly JsonObject[],
  groupsOfModels: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const [alias, names] of groupsOfModels) {
    for (const name of names) groups.set(name, [...(groups.get(name) ?? []), alias]);
  }
  for (const row of rows) {
    const models = listOfTexts(row.access_model_names);
    for (const name of [row.access_group_name, row.access_group_id]) {
      if (typeof name === 'string') groups.set(name, [...(groups.get(name) ?? []), ...models]);
    }
  }
  return groups;
}

/** Null: all that its account may use. */
function modelsOf(
  row: JsonObject,
  groups: ReadonlyMap<string, readonly string[]>,
  path: Path,
  notes: Notes,
): string[] | null {
  const named = [...listOfTexts(row.models), ...listOfTexts(row.access_group_ids)];
  if (named.length === 0 || named.some((name) => name === 'all-proxy-models' || name === 'all-team-models'))
    return null;
  const models = [...new Set(named.flatMap((name) => groups.get(name) ?? [name]))];
  const fitting = models.filter((name) => name !== '' && name.length <= 256 && !name.includes('${')).slice(0, 1_000);
  if (fitting.length < models.length) notes.add([...path, 'models'], 'some names are not carried over');
  // Names no model, so that nothing is allowed.
  return fitting.length === 0 ? ['no-default-models'] : fitting;
}

function noteLeftOut(row: JsonObject, path: Path, notes: Notes): void {
  const metadata = isObject(row.metadata) ? row.metadata : {};
  for (const [of, at, reasons] of [
    [row, path, leftOut],
    [metadata, [...path, 'metadata'], leftOutOfMetadata],
  ] as const) {
    for (const [name, why] of Object.entries(reasons)) {
      if (!isEmpty(of[name])) notes.add([...at, name], `not carried over: ${why}`);
    }
  }
}

/** Tables whose rows have no counterpart. */
function noteOtherTables(tables: LiteLlmRows['tables'], notes: Notes): void {
  const say = (table: LiteLlmTable, rows: readonly JsonObject[], why: string) => {
    if (rows.length > 0) notes.add([table], `${rows.length} not carried over: ${why}`);
  };
  const budgeted = (rows: readonly JsonObject[]) => rows.filter(({ budget_id: id }) => id != null);
  say('LiteLLM_OrganizationTable', tables.LiteLLM_OrganizationTable, 'nothing stands above accounts');
  say('LiteLLM_ProjectTable', tables.LiteLLM_ProjectTable, 'there are no projects; keys have limits of their own');
  say('LiteLLM_TeamMembership', budgeted(tables.LiteLLM_TeamMembership), 'people in a team have no budgets; keys have');
  say('LiteLLM_EndUserTable', budgeted(tables.LiteLLM_EndUserTable), 'the user of a request has no budget');
  say('LiteLLM_TagTable', budgeted(tables.LiteLLM_TagTable), 'tags have no budget');
  const admins = tables.LiteLLM_UserTable.filter(({ user_role: role }) => String(role).startsWith('proxy_admin'));
  say('LiteLLM_UserTable', admins, 'people who administer log in as operators');
  for (const [table, rows] of Object.entries(tables)) {
    if (rows.length >= rowsMax) notes.add([table], `only its ${rowsMax} oldest rows are read`);
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function withoutNulls(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}
