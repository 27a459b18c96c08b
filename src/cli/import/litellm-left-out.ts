import { culvert } from '../../kernel/command-form.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type FieldTable, isEmpty } from './import-fields.ts';
import { type LiteLlmRows, type LiteLlmTable, rowsMax } from './litellm-database.ts';
import type { Notes } from './notes.ts';

/** Columns that say more than a key, a team or a user can here. */
export const columnsLeftOut: FieldTable = {
  model_max_budget: 'accounts.NAME.budgets has budgets by model, for all keys of the account',
  model_rpm_limit: 'rates count for all models of an account; tier_limits of a plan bound groups of models',
  model_tpm_limit: 'rates count for all models of an account; tier_limits of a plan bound groups of models',
  budget_fallbacks: 'a rule in routes takes another model by what is left of a budget: ladder by budget_left',
  tpd_limit: 'there is no limit of tokens a day; plans have tokens in 5 hours, 7 and 30 days',
  soft_budget: 'soft.budget of plans and of limits of keys warns, and plans.NAME.notify calls a webhook',
  aliases: 'names of models are the same for all keys',
  config: 'a key has no separate configuration',
  router_settings: 'routing is the same for all keys',
  permissions: 'a key has no such permissions here',
  allowed_routes: 'a key opens all of /v1',
  auto_rotate: 'only a command changes a key',
  policies: 'there are no policies here',
  object_permission_id: 'mcp and agents of plans, and of limits of keys, say which MCP servers and agents they may use',
  // Members that change what LiteLLM does.
  metadata: {
    model_rpm_limit: 'rates count for all models of an account; tier_limits of a plan bound groups of models',
    model_tpm_limit: 'rates count for all models of an account; tier_limits of a plan bound groups of models',
    guardrails: 'guards of keys, accounts, models, plans and server name guards',
    logging: 'telemetry.otlp and telemetry.sinks send what callbacks got',
  },
};

/** Tables of what happened, and of LiteLLM's own work. */
const history =
  /Spend|Log|Daily|Deleted|Cron|Health|Notification|Invitation|Session|State|Heartbeat|Eval|Workflow|Run$|Worker|Baseline|Settlement|Lens|Retired|Telemetry|Verified|Identity/;

/** Tables that are not read, and what does their work. */
const unread: Readonly<Record<string, string>> = {
  LiteLLM_MCPServerTable: `${culvert} mcp-servers adds MCP servers`,
  LiteLLM_SearchToolsTable: 'tools.search.providers has engines for the search of the web',
  LiteLLM_SSOConfig: 'dashboard.oidc logs operators in',
  LiteLLM_CacheConfig: 'models.NAME.cache keeps answers',
  LiteLLM_ManagedFileTable: 'files stay at the providers that hold them; /v1/files takes new ones',
};

/** Notes tables whose rows have no counterpart. `users`: ids of those who became accounts. */
export function noteOtherTables({ tables, others }: LiteLlmRows, users: ReadonlySet<unknown>, notes: Notes): void {
  const noteLeftOut = (table: LiteLlmTable, rows: readonly JsonObject[], why: string) => {
    if (rows.length > 0) notes.add([table], `${rows.length} not carried over: ${why}`);
  };
  const bounded = ({ budget_id: id, blocked, allowed_model_region: region }: JsonObject) =>
    id != null || blocked === true || region != null;
  noteLeftOut(
    'LiteLLM_EndUserTable',
    tables.LiteLLM_EndUserTable.filter(bounded),
    'accounts.NAME.budgets bounds what an end user spends, and routes.NAME.when refuses one by name',
  );
  noteLeftOut(
    'LiteLLM_OrganizationMembership',
    tables.LiteLLM_OrganizationMembership.filter(bounded),
    'people in an organization have no budgets; keys have',
  );
  noteLeftOut(
    'LiteLLM_ModelTable',
    tables.LiteLLM_ModelTable.filter((row) => !isEmpty(row.aliases)),
    'teams have other names for models there; names are the same for all accounts here',
  );
  const isAdmin = ({ user_role: role }: JsonObject) => String(role).startsWith('proxy_admin');
  const admins = tables.LiteLLM_UserTable.filter(isAdmin);
  noteLeftOut('LiteLLM_UserTable', admins, 'people who administer log in as operators');
  const limited = ['max_budget', 'tpm_limit', 'rpm_limit', 'max_parallel_requests'];
  const keyless = tables.LiteLLM_UserTable.filter(
    (row) => !users.has(row.user_id) && !isAdmin(row) && limited.some((column) => row[column] != null),
  );
  noteLeftOut(
    'LiteLLM_UserTable',
    keyless,
    'these people have limits, but no key outside of teams to which the limits apply',
  );
  for (const { table, rows } of others) {
    const why = unread[table] ?? 'the import does not read this table';
    if (!history.test(table)) notes.add([table], `${rows} not carried over: ${why}`);
  }
  for (const [table, rows] of Object.entries(tables)) {
    if (rows.length >= rowsMax) notes.add([table], `only its ${rowsMax} oldest rows are read`);
  }
}
