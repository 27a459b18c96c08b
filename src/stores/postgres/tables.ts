import {
  Conflict,
  change,
  changeAll,
  type OwnTables,
  type Sql,
  type SqlWords,
  type TransactionKind,
  type Work,
} from '../sql-tables.ts';
import { type Database, foreignKeyViolation, type Run, type Statement, sqlState, uniqueViolation } from './database.ts';
import { inTime, unavailable } from './unavailable.ts';

/** How long callers wait. Absent: until the pool gives up. */
export interface Patience {
  /** A read without an answer by then is given up, and its connection with it. */
  answerMaxMs?: number;
  /** A read or write without an answer by then rejects; what it asked for may be done later. */
  giveUpMs?: number;
}

const words: SqlWords = {
  prefix: 'culvert.',
  forUpdate: 'FOR UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  byBytes: 'COLLATE "C"',
  oneOf: (column, place) => `${column} = ANY (${place}::text[])`,
  *lock(kind, name) {
    yield* change('SELECT pg_advisory_xact_lock($1, hashtext($2))', [kind, name]);
  },
};

/** The tables that stores of both databases share. Nothing is to be closed: the connections are the server's. */
export function tablesIn({ rest }: Pick<Database, 'rest'>, { answerMaxMs, giveUpMs }: Patience = {}): OwnTables {
  const named = (sql: Sql): Statement => {
    const statement: Statement = typeof sql === 'string' ? { text: sql } : sql;
    return answerMaxMs === undefined ? statement : { ...statement, answerMaxMs };
  };
  const soon = <T>(result: Promise<T>) => reported(giveUpMs === undefined ? result : inTime(result, giveUpMs));
  const transaction = <T>(kind: TransactionKind, work: () => Work<T>) =>
    soon(rest.transaction(kind === 'snapshot' ? 'snapshot' : 'write', (run) => done(run, work)));
  return {
    ...words,
    rows: (sql, values) => soon(rest.run(named(sql), values).then(({ rows }) => rows)),
    write(steps) {
      const [only, ...others] = steps;
      if (only === undefined || others.length > 0) return transaction('write', () => changeAll(steps));
      return soon(rest.run(only.sql, only.values).then(({ changes }) => [changes]));
    },
    transaction,
    close: async () => undefined,
  };
}

async function done<T>(run: Run, work: () => Work<T>): Promise<T> {
  const statements = work();
  for (let step = statements.next(); ; ) {
    if (step.done === true) return step.value;
    const { sql, values } = step.value;
    step = statements.next(await run(sql, values));
  }
}

/** As `unavailable`, with a constraint of the schema as a `Conflict`. */
async function reported<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Conflict) throw error;
    if (sqlState(error) === foreignKeyViolation) throw new Conflict('absent', error);
    if (sqlState(error) === uniqueViolation) throw new Conflict('exists', error);
    return unavailable(Promise.reject(error));
  }
}
