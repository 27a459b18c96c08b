import { z } from 'zod';
import type { AccountFacts, AccountRow } from '../../books/auth/account-store.ts';
import { accountIdProblem } from '../../books/auth/issue-key.ts';
import { isoOrNull } from '../../books/auth/key-facts.ts';
import type { Operator } from '../../books/auth/operator.ts';
import { isAsStrict, isBinding } from '../../config/data-rules.ts';
import { extraAmounts } from '../../config/declared.ts';
import { guardNames } from '../../config/guard-names.ts';
import { someText } from '../../config/scalars.ts';
import { accountName, partBudgets } from '../../config/schema/schema-accounts.ts';
import { dataRuleSchema } from '../../config/schema/schema-data.ts';
import { extraBudget as extraBudgetSchema } from '../../config/schema/schema-plans.ts';
import type { PlanConfig } from '../../config/schema.ts';
import { type Failure, forbidden, invalid } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { Directory, KnownAccount, Records } from '../directory.ts';
import { anyContains, definedMembers, filter, futureInstant, isoOf, timeField } from '../fields.ts';
import { idleSettings, warningsField } from '../idle-settings.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import {
  checkContentVersion,
  contentVersion,
  contentVersionField,
  knownContentVersion,
  refuseChanged,
} from './content-version.ts';
import { entryOperations, type FiltersOf } from './entry-operations.ts';
import { futureMs } from './key-change.ts';
import { refuseUnknownGuards } from './unknown-guards.ts';

const status = z.enum(['active', 'suspended']);
const displayName = accountName().describe('The name that people see.');
const planName = someText(64).describe('Name of its plan.');

const shownRule = z
  .object({ regions: z.array(z.string()).optional(), no_training: z.boolean(), zero_retention: z.boolean() })
  .nullable();

const accountSchema = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.string(),
  status,
  guards: z.array(z.string()).describe('Guards of the requests of its keys, besides those of its plan.'),
  extra_budget: z
    .object({ usd: z.number().optional(), tokens: z.int().optional(), requests: z.int().optional(), until: timeField })
    .nullable()
    .describe('What it may use in addition to each limit of its plan of that kind, until then; null: nothing.'),
  budgets: z.array(z.record(z.string(), z.unknown())).describe('Budgets by end user, tag and model within it.'),
  data: shownRule.describe('Which providers may get its requests; null: all that its plan allows.'),
  from: z.enum(['configuration', 'admin api']).describe('Entries of the configuration can be changed only there.'),
  created_at: timeField.nullable(),
  version: contentVersionField,
  warnings: warningsField,
});

/** For pages that show it. */
export type AccountReply = z.output<typeof accountSchema>;
type ShownAccount = z.input<typeof accountSchema>;

const detailedAccountSchema = accountSchema.extend({
  open_requests: z.int().describe('Running requests, and those that are not charged yet because their server died.'),
});

const newSchema = z.strictObject({
  id: z.string().max(64).optional().describe('Default: a generated id.'),
  name: displayName.optional(),
  plan: planName.optional().describe('Name of its plan. Default: default_plan of the configuration.'),
  guards: guardNames().describe('Guards of the requests of its keys.'),
  data: dataRuleSchema,
});

const changeSchema = z
  .strictObject({
    plan: planName.optional(),
    status: status.optional(),
    name: displayName.optional(),
    guards: guardNames().describe('Guards of the requests of its keys. [] for none.'),
    extra_budget: extraBudgetSchema(futureInstant('A date, a time, or a duration from now such as 5d.'))
      .nullish()
      .describe('What it may use in addition to each limit of its plan of that kind, until then. null: nothing.'),
    budgets: partBudgets().nullish().describe('Budgets by end user, tag and model within it. [] or null: none.'),
    data: dataRuleSchema.nullable().describe('Which providers may get its requests. null: all that its plan allows.'),
    version: knownContentVersion,
  })
  .refine(({ version: _, ...set }) => Object.values(set).some((value) => value !== undefined), {
    error: 'expected plan, status, name, guards, extra_budget, budgets or data',
  });

const filters = {
  plan: filter('Only those with this plan.'),
  status: status.optional(),
  text: filter('Only those whose id or name contains this text. Upper and lower case are the same.'),
};

/** `/accounts`: who pays. */
export function accountOperations(parts: AdminParts, records: Records): Operation[] {
  const entries = entryOperations({ path: '/accounts', named: 'id', area: 'accounts', reply: accountSchema });
  return [
    entries.list({
      summary: 'Lists the accounts of the configuration and the store, by id.',
      filters,
      async rows(query, operator) {
        const { accounts } = await records.current(operator.accounts);
        return {
          rows: accounts,
          textOf: ({ id }: KnownAccount) => id,
          matches: (account: KnownAccount) => matches(account, query),
          shown,
        };
      },
    }),
    entries.add({
      summary: 'Creates an account.',
      body: newSchema,
      run: ({ body, operator }) => addAccount(parts, records, body, operator),
    }),
    entries.show({
      summary: 'Returns one account.',
      reply: detailedAccountSchema,
      async run(id, { operator }) {
        const account = accountOf(await records.current(operator.accounts), id);
        const open = await parts.ledger.openReservations(account.id);
        return { ...shown(account), open_requests: open.length };
      },
    }),
    entries.change({
      summary:
        "Changes an account's plan, status, name, guards, extra budget, budgets or data rule. The new limits apply at once.",
      body: changeSchema,
      run: (id, { body, operator }) => changeAccount(parts, records, id, body, operator),
    }),
  ];
}

async function addAccount(
  { clock }: AdminParts,
  records: Records,
  body: z.output<typeof newSchema>,
  operator: Operator,
): Promise<ShownAccount> {
  const directory = await records.current(null);
  const id = body.id ?? `acc_${randomBase62(16)}`;
  const problem = accountIdProblem(id);
  if (problem !== null)
    refuse(invalid('id', 'id: expected 1 to 64 of letters, digits and ._@-, a letter or digit first'));
  if (operator.accounts !== null && !operator.accounts.includes(id)) refuse(notTheirs(operator, id));
  const taken = { kind: 'conflict', message: `An account '${id}' exists already.` } as const;
  if (directory.account(id) !== null) refuse(taken);
  const plan = body.plan ?? directory.config.default_plan;
  checkPlanName(directory, plan);
  refuseUnknownGuards(body, directory);
  const { name = id, guards = [], data } = body;
  const account: AccountRow = {
    id,
    name,
    plan,
    status: 'active',
    guards,
    createdMs: clock.wallMs(),
    ...(isBinding(data) && { data }),
  };
  const done = await records.apply([{ kind: 'create-account', account }], {
    actor: operator.name,
    action: 'account.create',
    subject: id,
    before: null,
    after: facts(account),
  });
  if (done !== 'done') refuse(taken);
  return shown({ ...account, from: 'admin api', row: account });
}

async function changeAccount(
  parts: AdminParts,
  records: Records,
  id: string,
  { version, ...body }: z.output<typeof changeSchema>,
  operator: Operator,
): Promise<ShownAccount> {
  const directory = await records.current(operator.accounts);
  const account = accountOf(directory, id);
  const row = account.row ?? refuse(declaredConflict(parts, 'account', id));
  checkContentVersion(version, shown(account), `account '${row.id}'`);
  if (body.plan !== undefined) checkPlanName(directory, body.plan);
  refuseUnknownGuards(body, directory);
  refuseLooserData(directory, row, body, operator);
  const { extra_budget: extra, budgets, data, ...others } = body;
  const untilMs = extra == null ? null : futureMs(extra.until, parts.clock.wallMs(), 'extra_budget.until');
  const extraBudget = extra == null || untilMs === null ? null : { ...extraAmounts(extra), untilMs };
  const set: Partial<AccountFacts> = {
    ...definedMembers(others),
    ...(extra !== undefined && { extraBudget }),
    ...(budgets !== undefined && { budgets: budgets === null || budgets.length === 0 ? null : budgets }),
    ...(data !== undefined && { data: isBinding(data) ? data : null }),
  };
  const next: AccountRow = { ...row, ...set };
  const was = version === undefined ? null : facts(row);
  const done = await records.apply([{ kind: 'update-account', id: row.id, set, was }], {
    actor: operator.name,
    action: 'account.update',
    subject: row.id,
    before: facts(row),
    after: facts(next),
  });
  if (done !== 'done') {
    const now = accountOf(await records.current(operator.accounts), row.id);
    return refuseChanged(shown(now), `account '${row.id}'`);
  }
  const planOf = () => directory.plan(next.plan)?.definition;
  const idle = idleSettings(parts, { accounts: [{ id, budgets }], planOf });
  return { ...shown({ ...next, from: 'admin api', row: next }), ...idle };
}

/** An operator of some accounts may narrow what the operators of all accounts let them do, and not widen it. */
function refuseLooserData(
  directory: Directory,
  account: AccountRow,
  { data = account.data ?? null, plan = account.plan }: Pick<z.output<typeof changeSchema>, 'data' | 'plan'>,
  { name, accounts }: Operator,
): void {
  if (accounts === null) return;
  const ruleOf = (named: string) =>
    (directory.plan(named)?.definition as Partial<PlanConfig> | undefined)?.data ?? null;
  const looser =
    (!isAsStrict(data, account.data ?? null) && 'data') || (!isAsStrict(ruleOf(plan), ruleOf(account.plan)) && 'plan');
  if (looser === false) return;
  const message = `${looser}: the operator '${name}' manages only some accounts, and may only narrow where their data goes. Ask an operator of all accounts.`;
  refuse(forbidden(message));
}

function matches(account: KnownAccount, { plan, status, text }: FiltersOf<typeof filters>): boolean {
  return (
    (plan === undefined || account.plan === plan) &&
    (status === undefined || account.status === status) &&
    (text === undefined || anyContains(text, account.id, account.name))
  );
}

function notTheirs({ name, accounts }: Operator, id: string): Failure {
  const allowed = accounts?.join(', ') || 'none';
  return forbidden(`The operator '${name}' may manage only the accounts ${allowed}, so it cannot create '${id}'.`);
}

function shown({
  id,
  name,
  plan,
  status,
  guards,
  extraBudget,
  budgets: rowBudgets,
  data = null,
  from,
  row,
}: KnownAccount): ShownAccount {
  const extra_budget = extraBudget == null ? null : { ...extraAmounts(extraBudget), until: isoOf(extraBudget.untilMs) };
  const version = contentVersion({
    name,
    plan,
    status,
    guards,
    ...(extra_budget !== null && { extra_budget }),
    ...(rowBudgets != null && { budgets: rowBudgets }),
    ...(data !== null && { data }),
  });
  const created_at = isoOrNull(row?.createdMs ?? null);
  const budgets = (rowBudgets ?? []).map((budget) => ({ ...budget }));
  return { id, name, plan, status, guards: [...guards], extra_budget, budgets, data, from, created_at, version };
}

function facts({
  name,
  plan,
  status,
  guards,
  extraBudget = null,
  budgets = null,
  data = null,
}: AccountRow): AccountFacts {
  return { name, plan, status, guards, extraBudget, budgets, data };
}

export function accountOf(directory: Directory, id: string): KnownAccount {
  return directory.account(id) ?? refuse(noAccount(directory, id));
}

function noAccount(directory: Directory, id: string) {
  const ids = directory.accounts.map((account) => account.id);
  return { kind: 'not-found', message: `There is no account '${id.slice(0, 64)}'${didYouMean(id, ids)}.` } as const;
}

function checkPlanName(directory: Directory, plan: string): void {
  if (directory.plan(plan) !== null) return;
  const names = directory.plans.map(({ name }) => name);
  refuse(invalid('plan', `plan: there is no plan '${plan}'${didYouMean(plan, names)}`));
}

/** The file decides what it declares. If two places said different things, they would correct each other for ever. */
export function declaredConflict({ configFile }: AdminParts, what: string, name: string) {
  const file = configFile ?? 'the configuration';
  return { kind: 'conflict', message: `The ${what} '${name}' is declared in ${file}; change it there.` } as const;
}
