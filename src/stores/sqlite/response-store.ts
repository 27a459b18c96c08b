import type { StatementSync } from 'node:sqlite';
import type { ResponseStore } from '../../metering/response-store.ts';
import type { Migration } from '../migration.ts';
import { createResponseStore } from '../response-store.ts';
import { openDatabase, type SqlValue } from './database.ts';
import { createHousekeeper, createLateCheckpoint } from './housekeeper.ts';
import { migrateKept } from './migrations.ts';
import { transaction } from './transaction.ts';

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;

/**
 * Kept responses and conversations in `responses.db`. One server a folder: whatever runs under another boot than
 * `bootId` runs no more. A power cut may take the last ones; no turn of the loop waits for the disk.
 */
export function openSqliteResponseStore(options: {
  file: string;
  bootId: string;
  /** Hears of housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}): ResponseStore {
  const { file, bootId, onTrouble } = options;
  const database = openDatabase(file, 'checkpoint', migrationBusyTimeoutMs);
  try {
    migrateKept(database, migrations);
    database.exec('PRAGMA busy_timeout = 0');
  } catch (error) {
    database.close();
    throw error;
  }
  const housekeeper = createHousekeeper(file);
  const log = createLateCheckpoint(database, housekeeper, (error) =>
    onTrouble(`responses: checkpoint failed: ${String(error)}`),
  );
  const prepared = new Map<string, StatementSync>();
  const statement = (sql: string): StatementSync => {
    let known = prepared.get(sql);
    if (known === undefined) {
      known = database.prepare(sql.replaceAll('$', '?'));
      prepared.set(sql, known);
    }
    return known;
  };
  const tables = createResponseStore({
    prefix: '',
    bootIsOver: (column) => `${column} <> '${bootId}'`,
    rows: (sql, values) => transaction(database, () => statement(sql).all(...(values as SqlValue[]))),
    async write(steps) {
      const changes = await transaction(database, () => {
        const changed: number[] = [];
        for (const { sql, values, needed } of steps) {
          changed.push(Number(statement(sql).run(...(values as SqlValue[])).changes));
          if (needed === true && changed.at(-1) === 0) break;
        }
        return changed;
      });
      log.wrote();
      return changes;
    },
  });
  return {
    ...tables,
    async close() {
      await housekeeper.close();
      database.close();
    },
  };
}

/** `responses.db`. A file of its own: it may grow to many GB, and its writes would hold up those of accounts. */
const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'responses and conversations',
    sql: `
      -- Not WITHOUT ROWID: what is sealed may be megabytes.
      CREATE TABLE response (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        previous TEXT,
        conversation TEXT,
        status TEXT NOT NULL,
        -- The process in which it runs; null: it has ended.
        boot_id TEXT,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        input BLOB NOT NULL,
        answer BLOB NOT NULL,
        events BLOB,
        PRIMARY KEY (tenant, id)
      ) STRICT;
      CREATE INDEX response_expiry ON response (expires_ms);
      CREATE TABLE conversation (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        metadata BLOB NOT NULL,
        PRIMARY KEY (tenant, id)
      ) STRICT;
      CREATE INDEX conversation_expiry ON conversation (expires_ms);
      CREATE TABLE conversation_item (
        tenant TEXT NOT NULL,
        conversation TEXT NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        item BLOB NOT NULL,
        PRIMARY KEY (tenant, conversation, seq),
        UNIQUE (tenant, conversation, id)
      ) STRICT;
    `,
  },
];
