import { keyTags } from '../../config/key-tags.ts';
import { accountNameFrom } from '../../config/schema/schema-accounts.ts';
import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { filled, noteLeftOut } from './import-fields.ts';
import type { ImportedConfig } from './imported.ts';
import { type AccessGroups, accessGroups, modelsInAll, modelsOf } from './litellm-allowed-models.ts';
import type { LiteLlmRows, LiteLlmTable } from './litellm-database.ts';
import { columnsLeftOut, noteOtherTables } from './litellm-left-out.ts';
import { type Limits, limitsOf, tightest } from './litellm-limits.ts';
import type { Notes, Path } from './notes.ts';
import { isWritable, listOfTexts, plain, textOr } from './plain-values.ts';
import { uniqueName } from './unique-name.ts';

/** Accounts, plans and keys of a database. `groupsOfModels`: aliases of the new file with the access groups of each. */
export function importAccounts(
  rows: LiteLlmRows,
  groupsOfModels: ReadonlyMap<string, readonly string[]>,
  notes: Notes,
  nowMs: number,
): Pick<ImportedConfig, 'plans' | 'default_plan' | 'accounts' | 'keys'> {
  const groups = accessGroups(rows.tables.LiteLLM_AccessGroupTable, groupsOfModels);
  const scopes = readScopes(rows, groups, notes);
  const { accounts, plans, ownerOf, owners } = makeAccounts(rows, groups, scopes, notes);
  const keys = importKeys(rows, { groups, scopes, ownerOf, notes, nowMs });
  scopes.noteHolders();
  noteOtherTables(rows, owners, notes);
  if (Object.keys(accounts).length === 0) return {};
  // With plans, `default` has limits that LiteLLM did not have.
  const free = Object.keys(plans).length === 0 ? null : uniqueName('unlimited', plans);
  return {
    ...(free !== null && { plans: { ...plans, [free]: { rpm: 'off' } }, default_plan: free }),
    accounts,
    ...(keys.length > 0 && { keys }),
  };
}

/** An account for each team at once, and for others when `ownerOf` finds a key of theirs: `owners` has those users. */
function makeAccounts({ tables }: LiteLlmRows, groups: AccessGroups, scopes: Scopes, notes: Notes) {
  const accounts: Record<string, JsonObject> = {};
  const plans: Record<string, JsonObject> = {};
  const made = new Map<string, string>();
  const accountOf = (table: LiteLlmTable, id: string, label: string, row: JsonObject, above: Scope | null): string => {
    const known = made.get(`${table}/${id}`);
    if (known !== undefined) return known;
    const name = uniqueName(label, accounts);
    made.set(`${table}/${id}`, name);
    const path = [table, label];
    noteLeftOut(row, columnsLeftOut, path, notes);
    if (above !== null) above.holders += 1;
    const models = modelsInAll([modelsOf(row, groups, path, notes), above?.models ?? null]);
    const limits = tightest([limitsOf(row, path, notes), above?.limits ?? {}]);
    const shown = accountNameFrom(label);
    accounts[name] = { ...(![name, ''].includes(shown) && isWritable(shown) && { name: plain(shown) }) };
    if (Object.keys(limits).length > 0 || models !== null) {
      plans[name] = { rpm: 'off', ...limits, ...(models !== null && { models }) };
      accounts[name].plan = name;
    }
    if (row.blocked === true) accounts[name].status = 'suspended';
    return name;
  };

  const teams = new Map(tables.LiteLLM_TeamTable.map((row) => [row.team_id, row]));
  const ofTeam = (id: string): Owner => {
    const row = teams.get(id) ?? {};
    const organization = scopes.organization(row.organization_id);
    return { account: accountOf('LiteLLM_TeamTable', id, textOr(row.team_alias, id), row, organization), organization };
  };
  for (const id of teams.keys()) if (typeof id === 'string' && id !== '' && id !== dashboardTeam) ofTeam(id);

  const users = new Map(tables.LiteLLM_UserTable.map((row) => [row.user_id, row]));
  const owners = new Set<unknown>();
  /** Its team, else its user, else its organization, else one for all that have none of them. */
  const ownerOf = (key: JsonObject): Owner => {
    const [team, user] = [textOr(key.team_id, ''), textOr(key.user_id, '')];
    if (team !== '') return ofTeam(team);
    if (user !== '') {
      owners.add(user);
      const row = users.get(user) ?? {};
      const label = textOr(row.user_email, textOr(row.user_alias, user));
      return { account: accountOf('LiteLLM_UserTable', user, label, row, null), organization: null };
    }
    const organization = scopes.organization(key.organization_id);
    const account =
      organization === null
        ? accountOf('LiteLLM_UserTable', '', 'litellm', {}, null)
        : accountOf('LiteLLM_OrganizationTable', String(key.organization_id), organization.label, {}, organization);
    return { account, organization };
  };
  return { accounts, plans, ownerOf, owners };
}

/** Keys that LiteLLM's dashboard makes for each login. */
const dashboardTeam = 'litellm-dashboard';

const tagsRule = 'not carried over: a key has at most 20 tags, of 64 letters, digits, ._@/:- or spaces';

/** Payer of a key. `organization`: whose limits the account has already. */
interface Owner {
  account: string;
  organization: Scope | null;
}

interface Around {
  groups: AccessGroups;
  scopes: Scopes;
  ownerOf(key: JsonObject): Owner;
  notes: Notes;
  nowMs: number;
}

/** Keys by the hash that LiteLLM keeps, those of `LiteLLM_DeprecatedVerificationToken` too as long as it takes them. */
function importKeys({ tables }: LiteLlmRows, { groups, scopes, ownerOf, notes, nowMs }: Around): JsonObject[] {
  const keys: JsonObject[] = [];
  const bySecret = new Map<unknown, { account: string; key: JsonObject; label: string }>();
  const namesOf = new Map<string, Record<string, unknown>>();
  const add = (sha256: unknown, account: string, label: string, key: JsonObject) => {
    const taken = namesOf.get(account) ?? {};
    namesOf.set(account, taken);
    const name = uniqueName(label, taken);
    taken[name] = true;
    keys.push({ sha256: String(sha256), account, name, ...key });
  };

  for (const row of tables.LiteLLM_VerificationToken) {
    if (row.team_id === dashboardTeam) continue;
    const label = textOr(row.key_alias, textOr(row.key_name, 'key'));
    const path = ['LiteLLM_VerificationToken', label];
    const between = scopes.ofKey(row);
    const why = whyNotTaken(row, nowMs) ?? whyBlocked(between);
    if (why !== null) {
      notes.add(path, `this key is not carried over: ${why}`);
      continue;
    }
    const whole = { ...scopes.budget(row.budget_id), ...filled(row) };
    noteLeftOut(whole, columnsLeftOut, path, notes);
    const owner = ownerOf(row);
    const organization = scopes.organization(row.organization_id);
    const above = organization === null || organization === owner.organization ? between : [...between, organization];
    for (const scope of above) scope.holders += 1;
    const models = modelsInAll([modelsOf(row, groups, path, notes), ...above.map((scope) => scope.models)]);
    const limits = tightest([limitsOf(whole, path, notes), ...above.map((scope) => scope.limits)]);
    const named = listOfTexts(objectIn(row.metadata).tags);
    const tags = keyTags().safeParse(named).data ?? [];
    if (tags.length === 0 && named.length > 0) notes.add([...path, 'metadata', 'tags'], tagsRule);
    const key: JsonObject = {
      ...(typeof row.expires === 'string' && { expires: instantOf(row.expires) }),
      ...(models !== null && { models }),
      ...(Object.keys(limits).length > 0 && { limits: { ...limits } }),
      ...(tags.length > 0 && { tags }),
    };
    add(row.token, owner.account, label, key);
    bySecret.set(row.token, { account: owner.account, key, label });
  }
  for (const { token, active_token_id: active, revoke_at: expires } of tables.LiteLLM_DeprecatedVerificationToken) {
    const rotated = bySecret.get(active);
    if (rotated === undefined || typeof expires !== 'string' || whyNotTaken({ token, expires }, nowMs) !== null)
      continue;
    const { account, key, label } = rotated;
    add(token, account, `${label}-before`, { ...key, expires: instantOf(expires) });
  }
  return keys;
}

function whyNotTaken({ token, blocked, expires }: JsonObject, nowMs: number): string | null {
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/.test(token)) {
    return 'the database holds no SHA-256 of it, so its caller needs a new one';
  }
  if (blocked === true) return 'it is blocked';
  const end = typeof expires === 'string' ? Date.parse(instantOf(expires)) : nowMs + 1;
  if (Number.isNaN(end)) return 'its expiry is not a time';
  return end <= nowMs ? 'it has expired' : null;
}

function whyBlocked(above: readonly Scope[]): string | null {
  const blocking = above.find((scope) => scope.blocked);
  return blocking === undefined ? null : `${blocking.label} is blocked`;
}

/** LiteLLM keeps times of UTC without saying so; a column with a zone says which. */
function instantOf(time: string): string {
  return /(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`;
}

/** Limits that several keys or accounts share in LiteLLM. Here each of them has these limits for itself. */
interface Scope {
  path: Path;
  /** Name for people. */
  label: string;
  limits: Limits;
  /** Globs; null: all. */
  models: string[] | null;
  blocked: boolean;
  /** Keys and accounts that got the limits. */
  holders: number;
}

/** Budgets above keys. Each finds null where there is none. */
type Scopes = ReturnType<typeof readScopes>;

/** Reads organizations, projects, members of teams and tags, with their rows of `LiteLLM_BudgetTable`. */
function readScopes({ tables }: LiteLlmRows, groups: AccessGroups, notes: Notes) {
  const all = new Map<string, Scope>();
  const budgets = new Map(tables.LiteLLM_BudgetTable.map((row) => [row.budget_id, filled(row)]));
  const add = (table: LiteLlmTable, id: string, label: string, row: JsonObject, budget: JsonObject) => {
    const path = [table, label];
    noteLeftOut({ ...budget, ...filled(row) }, columnsLeftOut, path, notes);
    all.set(`${table}/${id}`, {
      path,
      label,
      limits: limitsOf(budget, path, notes),
      models: modelsOf(row, groups, path, notes),
      blocked: row.blocked === true,
      holders: 0,
    });
  };
  const budgetOf = (id: unknown) => budgets.get(id as string) ?? {};

  for (const row of tables.LiteLLM_OrganizationTable) {
    const id = String(row.organization_id);
    add('LiteLLM_OrganizationTable', id, textOr(row.organization_alias, id), row, budgetOf(row.budget_id));
  }
  for (const row of tables.LiteLLM_ProjectTable) {
    const id = String(row.project_id);
    add('LiteLLM_ProjectTable', id, textOr(row.project_alias, id), row, budgetOf(row.budget_id));
  }
  const teams = new Map(tables.LiteLLM_TeamTable.map((row) => [row.team_id, row]));
  const people = new Map(tables.LiteLLM_UserTable.map((row) => [row.user_id, row]));
  for (const { user_id: user, team_id: team, budget_id } of tables.LiteLLM_TeamMembership) {
    // A team's own budget for its members counts where a member's names no sum.
    const usual = budgetOf(objectIn(teams.get(team)?.metadata).team_member_budget_id);
    const budget = { ...usual, ...budgetOf(budget_id) };
    const who = textOr(people.get(user)?.user_email, textOr(people.get(user)?.user_alias, String(user)));
    const where = textOr(teams.get(team)?.team_alias, String(team));
    add('LiteLLM_TeamMembership', `${user}/${team}`, `${who} in ${where}`, { models: budget.allowed_models }, budget);
  }
  for (const row of tables.LiteLLM_TagTable) {
    const name = String(row.tag_name);
    if (listOfTexts(row.models).length > 0)
      notes.add(['LiteLLM_TagTable', name, 'models'], 'not carried over: tags do not choose models here');
    add('LiteLLM_TagTable', name, name, {}, budgetOf(row.budget_id));
  }

  const find = (table: LiteLlmTable, id: unknown) => all.get(`${table}/${id}`) ?? null;
  return {
    organization: (id: unknown): Scope | null => find('LiteLLM_OrganizationTable', id),
    /** A row of `LiteLLM_BudgetTable`, without what is empty in it. */
    budget: budgetOf,
    /** Scopes between a key and its team: its project, its user as a member of the team, its tags. */
    ofKey({ project_id: project, team_id: team, user_id: user, metadata }: JsonObject): Scope[] {
      const tags = new Set(listOfTexts(objectIn(metadata).tags));
      return [
        find('LiteLLM_ProjectTable', project),
        find('LiteLLM_TeamMembership', `${user}/${team}`),
        ...[...tags].map((tag) => find('LiteLLM_TagTable', tag)),
      ].filter((scope) => scope !== null);
    },
    /** Says which limits belong to several holders now, or to none. */
    noteHolders(): void {
      const unused = new Map<string, number>();
      for (const { path, limits, holders } of all.values()) {
        const [table] = path as [LiteLlmTable];
        if (Object.keys(limits).length === 0) continue;
        if (holders === 0) unused.set(table, (unused.get(table) ?? 0) + 1);
        if (holders > 1) notes.add(path, eachByItself(holders));
        if (table === 'LiteLLM_TagTable' && holders > 0) notes.add(path, tagOfRequest);
      }
      for (const [table, count] of unused) notes.add([table], `limits of ${count} not carried over: no key has them`);
    },
  };
}

function eachByItself(holders: number): string {
  return `its limits count for each of ${holders} accounts or keys separately; together these may use ${holders} times as much`;
}

const tagOfRequest =
  'its budget counts for each of the keys that have the tag; accounts.NAME.budgets bounds a tag that callers send';
