import type { Kysely } from 'kysely';
import type { AccountStore } from '../../auth/account-store.ts';
import {
  type AccountColumns,
  type AccountTables,
  type AuditColumns,
  auditConditions,
  auditOf,
  auditValues,
  type CredentialColumns,
  type KeptColumns,
  type KeyColumns,
  type OperatorColumns,
  type PlanColumns,
  type SecretColumns,
  storedOf,
} from '../account-rows.ts';
import { stepsOf } from '../account-steps.ts';
import { type Database, foreignKeyViolation, type Run, sqlState, uniqueViolation } from './database.ts';
import { postgresQueries } from './kysely.ts';
import { unavailable } from './unavailable.ts';

/** Over an open database, which its owner closes. Where PostgreSQL is away, everything rejects `quota-unavailable`. */
export function createPostgresAccountStore({ keys, rest }: Pick<Database, 'keys' | 'rest'>): AccountStore {
  let builder: Promise<Kysely<AccountTables>> | null = null;

  return {
    load: () => unavailable(keys.transaction('snapshot', readAll)),
    version: () =>
      unavailable(
        (async () => {
          const { rows } = await keys.run<{ version: number }>(readVersion);
          return rows[0]?.version ?? 0;
        })(),
      ),
    async apply(changes, audit) {
      builder ??= postgresQueries<AccountTables>();
      const steps = stepsOf(await builder, changes, audit);
      try {
        await rest.transaction('write', async (run) => {
          for (const { query, must } of steps) {
            const { changes: touched } = await run(query.sql, query.parameters);
            if (must && touched === 0) throw new Absent();
          }
        });
        return 'done';
      } catch (error) {
        if (error instanceof Absent || sqlState(error) === foreignKeyViolation) return 'absent';
        if (sqlState(error) === uniqueViolation) return 'exists';
        return unavailable(Promise.reject(error));
      }
    },
    async audit(query) {
      const { rows } = await unavailable(rest.run<AuditColumns & { id: number }>(readAudit, auditValues(query)));
      return rows.map(auditOf);
    },
    async close() {},
  };
}

/** Rolls back what had no row to change. */
class Absent extends Error {}

/** One row: what does not come at once comes never, and the next look takes another connection. */
const readVersion = {
  name: 'account-version',
  text: 'SELECT version FROM culvert.store_version WHERE one = 1',
  answerMaxMs: 1_000,
};
const readAudit = {
  name: 'account-audit',
  text: `SELECT * FROM culvert.audit WHERE ${auditConditions((at, type) => `$${at}::${type}`)}`,
};

async function readAll(run: Run) {
  const accounts = await run<AccountColumns>('SELECT * FROM culvert.account ORDER BY id');
  const keys = await run<KeyColumns>('SELECT * FROM culvert.api_key ORDER BY created_ms, id');
  // The one that lasts first, as in SQLite.
  const secrets = await run<SecretColumns>(
    'SELECT * FROM culvert.api_key_secret ORDER BY key_id, until_ms DESC NULLS FIRST, hash',
  );
  const plans = await run<PlanColumns>('SELECT * FROM culvert.plan ORDER BY name');
  const kept = await run<KeptColumns>('SELECT * FROM culvert.kept ORDER BY kind COLLATE "C", name COLLATE "C"');
  const credentials = await run<CredentialColumns>(
    'SELECT * FROM culvert.credential ORDER BY provider COLLATE "C", created_ms, id COLLATE "C"',
  );
  const operators = await run<OperatorColumns>('SELECT * FROM culvert.operator ORDER BY name COLLATE "C"');
  return storedOf({
    operators: operators.rows,
    accounts: accounts.rows,
    keys: keys.rows,
    secrets: secrets.rows,
    plans: plans.rows,
    kept: kept.rows,
    credentials: credentials.rows,
  });
}
