import type { CompiledQuery, Kysely } from 'kysely';
import type {
  AccountFacts,
  AccountRow,
  AuditEntry,
  BodyRuleRow,
  Change,
  KeySecret,
  KeySettings,
  TopUp,
} from '../../books/auth/account-store.ts';
import {
  type AccountTables,
  auditShape,
  bodyRuleShape,
  credentialShape,
  entryShape,
  invitationShape,
  namesColumn,
  operatorShape,
  planShape,
  scimShape,
  toJson,
  topUpShape,
} from './account-rows.ts';

/** One statement of a change. `must`: it has to touch a row. */
export interface AccountStep {
  query: CompiledQuery;
  must: boolean;
}

/**
 * The query builder, which only compiles: the tables run the queries. Loaded on demand: it costs 80 ms and 26 MB, and a
 * running server only reads. PostgreSQL's text, of places `$1` and quoted names, is SQLite's too.
 */
export async function accountQueries(prefix: string): Promise<Kysely<AccountTables>> {
  const { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } = await import('kysely');
  const queries = new Kysely<AccountTables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (over) => new PostgresIntrospector(over),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return prefix === '' ? queries : queries.withSchema(prefix.slice(0, -1));
}

/**
 * The statements of `AccountStore.apply`, for every driver. The version goes first: its one row is the lock on which
 * writers wait for each other, before any of them has read anything.
 */
export function stepsOf(queries: Kysely<AccountTables>, changes: readonly Change[], audit: AuditEntry): AccountStep[] {
  const version = queries.updateTable('store_version').set((row) => ({ version: row('version', '+', 1) }));
  const entry = queries.insertInto('audit').values(auditShape.record(audit));
  return [may(version), ...changes.flatMap((change) => changeSteps(queries, change)), may(entry)];
}

function changeSteps(queries: Kysely<AccountTables>, change: Change): AccountStep[] {
  switch (change.kind) {
    case 'create-account':
      return [may(queries.insertInto('account').values(newAccountColumns(change.account)))];
    case 'update-account':
      // With the id there is always something to set.
      return [
        must(
          queries
            .updateTable('account')
            .set({ id: change.id, ...accountColumns(change.set) })
            .where((row) => row.and({ id: change.id, ...accountColumns(change.was ?? {}) })),
        ),
      ];
    case 'add-credit':
      return creditSteps(queries, change.topUp);
    case 'create-key': {
      const { key } = change;
      const row = {
        id: key.id,
        account: key.account,
        tenant: key.tenant,
        prefix: key.prefix,
        kind: key.kind,
        ...settingColumns(key),
        created_ms: key.createdMs,
        revoked_ms: key.revokedMs,
      };
      return [may(queries.insertInto('api_key').values(row)), ...secretSteps(queries, key.id, key.secrets)];
    }
    case 'replace-secrets':
      return [
        must(
          living(queries, change.id)
            .set({ id: change.id })
            .where((row) => row.exists(presentSecret(queries, change))),
        ),
        may(queries.deleteFrom('api_key_secret').where('key_id', '=', change.id)),
        ...secretSteps(queries, change.id, change.secrets),
      ];
    case 'update-key':
      return [
        must(
          living(queries, change.id)
            .set(settingColumns({ ...change.was, ...change.set }))
            .where((row) => row.and(settingColumns(change.was))),
        ),
      ];
    case 'revoke-key':
      return [must(living(queries, change.id).set({ revoked_ms: change.atMs }))];
    case 'delete-key':
      return [
        may(queries.deleteFrom('api_key_secret').where('key_id', '=', change.id)),
        must(queries.deleteFrom('api_key').where('id', '=', change.id).where('revoked_ms', 'is not', null)),
      ];
    case 'put-plan':
      return [planStep(queries, change)];
    case 'delete-plan':
      return [must(queries.deleteFrom('plan').where('name', '=', change.name))];
    case 'create-kept':
      return [may(queries.insertInto('kept').values(entryShape.record(change.row)))];
    case 'replace-kept':
      return [
        must(
          queries
            .updateTable('kept')
            .set(entryShape.record(change.row))
            .where('kind', '=', change.row.kind)
            .where('name', '=', change.row.name)
            .where('version', '=', change.was),
        ),
      ];
    case 'delete-kept': {
      const entryRows = queries
        .deleteFrom('kept')
        .where('kind', '=', change.of)
        .where('name', '=', change.name)
        .where('version', '=', change.was);
      const credentials = queries.deleteFrom('credential').where('provider', '=', change.name);
      return change.of === 'provider' ? [must(entryRows), may(credentials)] : [must(entryRows)];
    }
    case 'create-credential':
      return [may(queries.insertInto('credential').values(credentialShape.record(change.credential)))];
    case 'delete-credential':
      return [
        must(queries.deleteFrom('credential').where('provider', '=', change.provider).where('id', '=', change.id)),
      ];
    case 'reseal-credential':
      return [
        must(
          queries
            .updateTable('credential')
            .set({ sealed: change.sealed })
            .where('provider', '=', change.provider)
            .where('id', '=', change.id)
            .where('sealed', '=', change.was),
        ),
      ];
    default:
      return personSteps(queries, change);
  }
}

/** Steps of operators, of how they came, and of whose bodies they keep. */
function personSteps(
  queries: Kysely<AccountTables>,
  change: Extract<
    Change,
    { kind: `${string}-operator` | `${string}-invitation` | `${string}-scim` | `${string}-body-rule` | 'only-at' }
  >,
): AccountStep[] {
  switch (change.kind) {
    case 'create-operator':
      return [may(queries.insertInto('operator').values(operatorShape.record(change.operator)))];
    case 'update-operator': {
      const { accounts, ...set } = change.set;
      const columns = { id: change.id, ...set, ...(accounts !== undefined && { accounts: toJson(accounts) }) };
      return [must(queries.updateTable('operator').set(columns).where('id', '=', change.id))];
    }
    case 'delete-operator':
      return [must(queries.deleteFrom('operator').where('id', '=', change.id))];
    case 'create-invitation': {
      const { invitation } = change;
      const expired = queries.deleteFrom('invitation').where('ends_ms', '<=', invitation.createdMs);
      return [may(expired), may(queries.insertInto('invitation').values(invitationShape.record(invitation)))];
    }
    case 'use-invitation':
      return [must(queries.deleteFrom('invitation').where('id', '=', change.id).where('ends_ms', '>', change.atMs))];
    case 'delete-invitation':
      return [must(queries.deleteFrom('invitation').where('id', '=', change.id))];
    case 'only-at': {
      // The version is one more already: it was raised first.
      const version = change.version + 1;
      return [must(queries.updateTable('store_version').set({ version }).where('version', '=', version))];
    }
    case 'put-body-rule':
      return bodyRuleSteps(queries, change.rule);
    case 'delete-body-rule':
      return [must(queries.deleteFrom('body_rule').where('id', '=', change.id))];
    case 'create-scim':
      return [may(queries.insertInto('scim').values(scimShape.record(change.row)))];
    case 'replace-scim':
      return [must(queries.updateTable('scim').set(scimShape.record(change.row)).where('id', '=', change.row.id))];
    case 'delete-scim':
      return [must(queries.deleteFrom('scim').where('id', '=', change.id))];
  }
}

function newAccountColumns({
  createdMs,
  extraBudget = null,
  budgets = null,
  data = null,
  creditNano: _,
  ...rest
}: AccountRow) {
  const columns = accountColumns({ guards: rest.guards, extraBudget, budgets, data });
  const { id, name, plan, status } = rest;
  return { id, name, plan, status, created_ms: createdMs, ...columns, credit_nano: null };
}

function creditSteps(queries: Kysely<AccountTables>, topUp: TopUp): AccountStep[] {
  const added = queries
    .updateTable('account')
    .set((row) => ({ credit_nano: row(row.fn.coalesce('credit_nano', row.lit(0)), '+', topUp.usdNano) }))
    .where('id', '=', topUp.account);
  return [may(queries.insertInto('credit').values(topUpShape.record(topUp))), must(added)];
}

function accountColumns<Facts extends Partial<AccountFacts>>({ guards, extraBudget, budgets, data, ...facts }: Facts) {
  return {
    ...facts,
    ...(guards !== undefined && { guards: namesColumn(guards) }),
    ...(extraBudget !== undefined && { extra_budget: toJson(extraBudget) }),
    ...(budgets !== undefined && { budgets: toJson(budgets) }),
    ...(data !== undefined && { data: toJson(data) }),
  };
}

function settingColumns({ name, expiresMs, models, ips, limits, guards, tags = [] }: KeySettings) {
  const lists = { models: toJson(models), ips: toJson(ips), guards: namesColumn(guards), tags: namesColumn(tags) };
  return { name, expires_ms: expiresMs, limits: toJson(limits), ...lists };
}

function planStep(queries: Kysely<AccountTables>, { plan, was }: Extract<Change, { kind: 'put-plan' }>): AccountStep {
  const { name, ...row } = planShape.record(plan);
  if (was !== null) {
    const held = { name, definition: JSON.stringify(was) };
    return must(
      queries
        .updateTable('plan')
        .set(row)
        .where((plans) => plans.and(held)),
    );
  }
  return may(
    queries
      .insertInto('plan')
      .values({ name, ...row })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row)),
  );
}

function bodyRuleSteps(queries: Kysely<AccountTables>, rule: BodyRuleRow): AccountStep[] {
  const before = queries
    .deleteFrom('body_rule')
    .where((row) => row.or([row.and({ kind: rule.of, name: rule.name }), row('until_ms', '<=', rule.createdMs)]));
  return [may(before), may(queries.insertInto('body_rule').values(bodyRuleShape.record(rule)))];
}

function living(queries: Kysely<AccountTables>, id: string) {
  return queries.updateTable('api_key').where('id', '=', id).where('revoked_ms', 'is', null);
}

function presentSecret(queries: Kysely<AccountTables>, { id, was }: Extract<Change, { kind: 'replace-secrets' }>) {
  const secrets = queries.selectFrom('api_key_secret').select('hash');
  return secrets.where('key_id', '=', id).where('hash', '=', was).where('until_ms', 'is', null);
}

function secretSteps(queries: Kysely<AccountTables>, id: string, secrets: readonly KeySecret[]): AccountStep[] {
  return secrets.map(({ hash, untilMs }) =>
    may(queries.insertInto('api_key_secret').values({ hash, key_id: id, until_ms: untilMs })),
  );
}

function may(query: { compile(): CompiledQuery }): AccountStep {
  return { query: query.compile(), must: false };
}

function must(query: { compile(): CompiledQuery }): AccountStep {
  return { query: query.compile(), must: true };
}
