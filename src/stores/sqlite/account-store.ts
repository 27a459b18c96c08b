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
import { type Step, stepsOf } from '../account-steps.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { type SqlValue, sqliteExtendedCode } from './database.ts';
import { sqliteQueries } from './kysely.ts';
import { transaction } from './transaction.ts';

/** Opens or creates `culvert.db`. An acknowledged write survives a power cut. */
export function openSqliteAccountStore(file: string): AccountStore {
  const database = openCulvertDatabase(file, 'fsync');
  const readVersion = database.prepare('SELECT version FROM store_version WHERE one = 1');
  const readAccounts = database.prepare('SELECT * FROM account ORDER BY id');
  const readKeys = database.prepare('SELECT * FROM api_key ORDER BY created_ms, id');
  // The one that lasts first.
  const readSecrets = database.prepare(
    'SELECT * FROM api_key_secret ORDER BY key_id, until_ms IS NOT NULL, until_ms DESC, hash',
  );
  const readPlans = database.prepare('SELECT * FROM plan ORDER BY name');
  const readKept = database.prepare('SELECT * FROM kept ORDER BY kind, name');
  const readOperators = database.prepare('SELECT * FROM operator ORDER BY name');
  const readCredentials = database.prepare('SELECT * FROM credential ORDER BY provider, created_ms, id');
  const readAudit = database.prepare(`SELECT * FROM audit WHERE ${auditConditions((at) => `?${at}`)}`);
  let builder: Promise<Kysely<AccountTables>> | null = null;

  /** Throws `Unfulfilled` where the port answers `exists` or `absent`, so that nothing of the transaction stays. */
  function run({ query, must }: Step): void {
    try {
      const { changes } = database.prepare(query.sql).run(...(query.parameters as SqlValue[]));
      if (must && changes === 0) throw new Unfulfilled('absent');
    } catch (error) {
      const code = sqliteExtendedCode(error);
      if (code === foreignKeyCode) throw new Unfulfilled('absent');
      if (code !== null && takenCodes.includes(code)) throw new Unfulfilled('exists');
      throw error;
    }
  }

  return {
    async load() {
      // One snapshot for all reads: a rotation between two of them would leave a key without a secret.
      database.exec('BEGIN');
      try {
        return storedOf({
          accounts: readAccounts.all() as unknown as AccountColumns[],
          keys: readKeys.all() as unknown as KeyColumns[],
          secrets: readSecrets.all() as unknown as SecretColumns[],
          plans: readPlans.all() as unknown as PlanColumns[],
          operators: readOperators.all() as unknown as OperatorColumns[],
          kept: readKept.all() as unknown as KeptColumns[],
          credentials: readCredentials.all() as unknown as CredentialColumns[],
        });
      } finally {
        database.exec('COMMIT');
      }
    },
    async version() {
      return Number(readVersion.get()?.version);
    },
    async apply(changes, audit) {
      builder ??= sqliteQueries<AccountTables>();
      const steps = stepsOf(await builder, changes, audit);
      try {
        await transaction(database, () => steps.forEach(run));
        return 'done';
      } catch (error) {
        if (error instanceof Unfulfilled) return error.why;
        throw error;
      }
    },
    async audit(query) {
      const rows = readAudit.all(...auditValues(query));
      return (rows as unknown as (AuditColumns & { id: number })[]).map(auditOf);
    },
    async close() {
      database.close();
    },
  };
}

class Unfulfilled extends Error {
  readonly why: 'exists' | 'absent';

  constructor(why: 'exists' | 'absent') {
    super(why);
    this.why = why;
  }
}

const foreignKeyCode = 787;
/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const takenCodes: readonly number[] = [1_555, 2_067];
