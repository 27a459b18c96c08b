import type { StatementSync } from 'node:sqlite';
import * as tables from '../sql-tables.ts';
import {
  type Database,
  type SqlValue,
  sqliteExtendedCode,
  type TransactionOptions,
  transaction,
  unavailable,
} from './database.ts';

/** SQL of SQLite. A transaction that writes has the file for itself: nothing is to be locked. */
const words: tables.SqlWords = {
  prefix: '',
  forUpdate: '',
  skipLocked: '',
  byBytes: 'COLLATE BINARY',
  oneOf: (column, place) => `${column} IN (SELECT value FROM json_each(${place}))`,
  *lock() {},
};

const beginnings = { snapshot: 'DEFERRED', write: 'IMMEDIATE', durable: 'IMMEDIATE' } as const;

export interface TablesOptions extends Pick<TransactionOptions, 'waitMaxMs'> {
  /** Called after each commit, with the bytes of what is large in it. */
  wrote?(bytes: number): void;
  /** Absent: SQLite syncs as the connection says. */
  syncs?: {
    /** Changes that resolve once they are on the disk. */
    which: 'every change' | 'durable ones';
    sync(): Promise<void>;
  };
}

/** The tables of an open database, for stores that both databases share. Statements are prepared once. */
export function tablesIn(database: Database, { wrote, syncs, ...patience }: TablesOptions = {}): tables.SqlTables {
  const prepared = new Map<string, StatementSync>();
  let writtenBytes = 0;

  function statement(sql: tables.Sql): StatementSync {
    const text = typeof sql === 'string' ? sql : sql.text;
    let known = prepared.get(text);
    if (known === undefined) {
      if (prepared.size === statementsMax) prepared.clear();
      known = database.prepare(text.replaceAll('$', '?'));
      prepared.set(text, known);
    }
    return known;
  }

  function rowsOf(sql: tables.Sql, values: readonly unknown[]) {
    return statement(sql).all(...values.map(bound));
  }

  function answerOf({ sql, values, needs }: tables.YieldedStatement) {
    if (needs === 'rows') return { rows: rowsOf(sql, values), changes: 0 };
    const { changes } = statement(sql).run(...values.map(bound));
    writtenBytes += largeBytesOf(values);
    return { rows: [], changes: Number(changes) };
  }

  /** Runs work to its end, within this turn. */
  function done<T>(work: () => tables.Work<T>): T {
    const statements = work();
    for (let step = statements.next(); ; ) {
      if (step.done === true) return step.value;
      step = statements.next(answerOf(step.value));
    }
  }

  async function committed<T>(
    kind: tables.TransactionKind,
    begin: NonNullable<TransactionOptions['begin']>,
    work: () => tables.Work<T>,
  ): Promise<T> {
    writtenBytes = 0;
    try {
      const result = await transaction(database, () => done(work), { ...patience, begin });
      if (kind === 'snapshot') return result;
      wrote?.(writtenBytes);
      if (kind === 'durable' || syncs?.which === 'every change') await onDisk(syncs);
      return result;
    } catch (error) {
      throw conflictOf(error) ?? error;
    }
  }

  const rows: tables.SqlTables['rows'] = async (sql, values) => {
    const found = await transaction(database, () => rowsOf(sql, values), { ...patience, begin: 'ITSELF' });
    // A token that is taken once is taken, whatever happens then.
    if (syncs?.which === 'every change' && changes(sql)) await onDisk(syncs);
    return found;
  };
  const write: tables.SqlTables['write'] = (steps) =>
    committed('write', steps.length === 1 ? 'ITSELF' : 'IMMEDIATE', () => tables.changeAll(steps));
  return {
    ...words,
    ...tables.shortWords({ rows, write }),
    rows,
    write,
    transaction: (kind, work) => committed(kind, beginnings[kind], work),
  };
}

function changes(sql: tables.Sql): boolean {
  return !(typeof sql === 'string' ? sql : sql.text).trimStart().startsWith('SELECT');
}

async function onDisk(syncs: TablesOptions['syncs']): Promise<void> {
  await syncs?.sync().catch((error: unknown) => {
    throw unavailable(error, 'a power cut may undo the change');
  });
}

/** Texts of statements are few: one that is made of lists of any length must not fill the memory. */
const statementsMax = 500;

function bound(value: unknown): SqlValue {
  return (Array.isArray(value) ? JSON.stringify(value) : value) as SqlValue;
}

/** Bytes of large values: texts and what is sealed. */
function largeBytesOf(values: readonly unknown[]): number {
  let sum = 0;
  for (const value of values) if (typeof value === 'string' || value instanceof Uint8Array) sum += value.length;
  return sum;
}

function conflictOf(error: unknown): tables.Conflict | null {
  const code = sqliteExtendedCode(error);
  if (code === foreignKeyCode) return new tables.Conflict('absent', error);
  return code !== null && takenCodes.includes(code) ? new tables.Conflict('exists', error) : null;
}

const foreignKeyCode = 787;
/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const takenCodes: readonly number[] = [1_555, 2_067];
