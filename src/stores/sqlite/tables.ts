import type { StatementSync } from 'node:sqlite';
import {
  Conflict,
  changeAll,
  type Sql,
  type SqlTables,
  type SqlWords,
  type TransactionKind,
  type Work,
  type YieldedStatement,
} from '../sql-tables.ts';
import { type Database, type SqlValue, sqliteExtendedCode, type TransactionOptions, transaction } from './database.ts';

/** SQL of SQLite. A transaction that writes has the file for itself: nothing is to be locked. */
const words: SqlWords = {
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
}

/** The tables of an open database, for stores that both databases share. Statements are prepared once. */
export function tablesIn(database: Database, { wrote, ...patience }: TablesOptions = {}): SqlTables {
  const prepared = new Map<string, StatementSync>();
  let writtenBytes = 0;
  /** Transactions that are to be synced; each may wait for another process in between. */
  let durableNow = 0;

  function statement(sql: Sql): StatementSync {
    const text = typeof sql === 'string' ? sql : sql.text;
    let known = prepared.get(text);
    if (known === undefined) {
      if (prepared.size === statementsMax) prepared.clear();
      known = database.prepare(text.replaceAll('$', '?'));
      prepared.set(text, known);
    }
    return known;
  }

  function rowsOf(sql: Sql, values: readonly unknown[]) {
    return statement(sql).all(...values.map(bound));
  }

  function answerOf({ sql, values, needs }: YieldedStatement) {
    if (needs === 'rows') return { rows: rowsOf(sql, values), changes: 0 };
    const { changes } = statement(sql).run(...values.map(bound));
    writtenBytes += largeBytesOf(values);
    return { rows: [], changes: Number(changes) };
  }

  /** Runs work to its end, within this turn. */
  function done<T>(work: () => Work<T>): T {
    const statements = work();
    for (let step = statements.next(); ; ) {
      if (step.done === true) return step.value;
      step = statements.next(answerOf(step.value));
    }
  }

  async function committed<T>(begin: NonNullable<TransactionOptions['begin']>, work: () => Work<T>): Promise<T> {
    writtenBytes = 0;
    try {
      const result = await transaction(database, () => done(work), { ...patience, begin });
      if (begin !== 'DEFERRED') wrote?.(writtenBytes);
      return result;
    } catch (error) {
      throw conflictOf(error) ?? error;
    }
  }

  async function durably<T>(kind: TransactionKind, run: () => Promise<T>): Promise<T> {
    // Without `wrote` every commit is synced already.
    if (kind !== 'durable' || wrote === undefined) return run();
    durableNow += 1;
    database.exec('PRAGMA synchronous = FULL');
    try {
      return await run();
    } finally {
      durableNow -= 1;
      if (durableNow === 0) database.exec('PRAGMA synchronous = NORMAL');
    }
  }

  return {
    ...words,
    rows: (sql, values) => transaction(database, () => rowsOf(sql, values), { ...patience, begin: 'ITSELF' }),
    write: (steps) => committed(steps.length === 1 ? 'ITSELF' : 'IMMEDIATE', () => changeAll(steps)),
    transaction: (kind, work) => durably(kind, () => committed(beginnings[kind], work)),
  };
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

function conflictOf(error: unknown): Conflict | null {
  const code = sqliteExtendedCode(error);
  if (code === foreignKeyCode) return new Conflict('absent', error);
  return code !== null && takenCodes.includes(code) ? new Conflict('exists', error) : null;
}

const foreignKeyCode = 787;
/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const takenCodes: readonly number[] = [1_555, 2_067];
