import type { StatementSync } from 'node:sqlite';
import type { Migration } from '../migration.ts';
import type { OwnTables, SqlTables } from '../sql-tables.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { type Database, openDatabase, type SqlValue } from './database.ts';
import { createHousekeeper, createLateCheckpoint } from './housekeeper.ts';
import { migrateKept } from './migrations.ts';
import { type TransactionOptions, transaction } from './transaction.ts';

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;

/** The tables of a database of its own in `file`. Its commits are made durable later, by a thread. */
export function openTables(options: {
  file: string;
  /** What it holds, in messages. */
  noun: string;
  migrations: readonly Migration[];
  /** How long a write waits for a checkpoint; default: as a transaction does. */
  waitMaxMs?: number;
  /** Hears of housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}): OwnTables {
  const { file, noun, migrations, onTrouble, ...patience } = options;
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
    onTrouble(`${noun}: checkpoint failed: ${String(error)}`),
  );
  const tables = tablesIn(database, patience);
  return {
    ...tables,
    async write(steps) {
      const changes = await tables.write(steps);
      log.wrote(steps.reduce((sum, { values }) => sum + bytesOf(values), 0));
      return changes;
    },
    async close() {
      await housekeeper.close();
      database.close();
    },
  };
}

/** The tables of `culvert.db`, for a store that both databases share. An acknowledged change survives a power cut. */
export function openCulvertTables(file: string): OwnTables {
  const database = openCulvertDatabase(file, 'fsync');
  return { ...tablesIn(database), close: async () => database.close() };
}

/** The tables of an open database, for stores that both databases share. */
export function tablesIn(database: Database, patience: Pick<TransactionOptions, 'waitMaxMs'> = {}): SqlTables {
  const prepared = new Map<string, StatementSync>();
  const statement = (sql: string): StatementSync => {
    let known = prepared.get(sql);
    if (known === undefined) {
      known = database.prepare(sql.replaceAll('$', '?'));
      prepared.set(sql, known);
    }
    return known;
  };
  return {
    prefix: '',
    rows: (sql, values) =>
      transaction(database, () => statement(sql).all(...(values as SqlValue[])), { ...patience, begin: 'ITSELF' }),
    write(steps) {
      const work = () => {
        const changed: number[] = [];
        for (const { sql, values, needed } of steps) {
          changed.push(Number(statement(sql).run(...(values as SqlValue[])).changes));
          if (needed === true && changed.at(-1) === 0) break;
        }
        return changed;
      };
      return transaction(database, work, { ...patience, begin: steps.length === 1 ? 'ITSELF' : 'IMMEDIATE' });
    },
  };
}

/** Of what is large: texts and what is sealed. */
function bytesOf(values: readonly unknown[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 0),
    0,
  );
}
