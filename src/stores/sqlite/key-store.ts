import type { Kysely, Transaction } from 'kysely';
import type { AccountRow, KeyRow, KeyStore } from '../../auth/key-store.ts';
import { type AccountTable, type CulvertTables, culvertMigrations, type KeyTable } from './culvert-schema.ts';
import { openDatabase } from './database.ts';
import { kyselyOver } from './kysely.ts';
import { migrate } from './migrations.ts';

/** Longest wait for another process' write; the calling thread blocks meanwhile. */
const busyTimeoutMs = 250;

/** Opens or creates `culvert.db`. An acknowledged write survives a power cut. */
export function openSqliteKeyStore(file: string): KeyStore {
  const database = openDatabase(file, 'fsync', busyTimeoutMs);
  migrate(database, culvertMigrations);
  const readVersion = database.prepare('SELECT version FROM store_version WHERE one = 1');
  const readAccounts = database.prepare('SELECT * FROM account ORDER BY id');
  const readAccount = database.prepare('SELECT * FROM account WHERE id = ?');
  const readKeys = database.prepare('SELECT * FROM api_key ORDER BY created_ms, id');
  let builder: Promise<Kysely<CulvertTables>> | null = null;

  /** Raising the version first takes the write lock at once, where waiting for it is allowed. */
  async function write<T>(work: (queries: Transaction<CulvertTables>) => Promise<T>): Promise<T> {
    builder ??= kyselyOver<CulvertTables>(database);
    const queries = await builder;
    return queries.transaction().execute(async (transaction) => {
      await transaction
        .updateTable('store_version')
        .set((row) => ({ version: row('version', '+', 1) }))
        .execute();
      return work(transaction);
    });
  }

  return {
    async load() {
      const accounts = readAccounts.all() as unknown as AccountTable[];
      const keys = readKeys.all() as unknown as KeyTable[];
      return { accounts: accounts.map(accountOf), keys: keys.map(keyOf) };
    },
    async version() {
      return Number(readVersion.get()?.version);
    },
    async findAccount(id) {
      const row = readAccount.get(id) as unknown as AccountTable | undefined;
      return row === undefined ? null : accountOf(row);
    },
    createAccount: (account) =>
      write(async (queries) => {
        const { createdMs, ...rest } = account;
        await queries
          .insertInto('account')
          .values({ ...rest, created_ms: createdMs })
          .execute();
      }),
    createKey: (key) =>
      write(async (queries) => {
        const { createdMs, expiresMs, revokedMs, models, ...rest } = key;
        await queries
          .insertInto('api_key')
          .values({
            ...rest,
            models: models === null ? null : JSON.stringify(models),
            created_ms: createdMs,
            expires_ms: expiresMs,
            revoked_ms: revokedMs,
          })
          .execute();
      }),
    revokeKey: (id, atMs) =>
      write(async (queries) => {
        const result = await queries
          .updateTable('api_key')
          .set({ revoked_ms: atMs })
          .where('id', '=', id)
          .where('revoked_ms', 'is', null)
          .executeTakeFirst();
        return result.numUpdatedRows === 1n;
      }),
    async close() {
      await (await builder)?.destroy();
      database.close();
    },
  };
}

function accountOf(row: AccountTable): AccountRow {
  return { id: row.id, name: row.name, plan: row.plan, status: row.status, createdMs: row.created_ms };
}

function keyOf(row: KeyTable): KeyRow {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    prefix: row.prefix,
    hash: row.hash,
    kind: row.kind,
    expiresMs: row.expires_ms,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    createdMs: row.created_ms,
    revokedMs: row.revoked_ms,
  };
}
