import type { AccountStore } from '../../books/auth/account-store.ts';
import type { ResponseStore } from '../../books/metering/response-store.ts';
import type { CrawlStore } from '../../tools/crawl/crawl-store.ts';
import type { SharedPace } from '../../tools/crawl/shared-pace.ts';
import { createAccountStore } from '../accounts/account-store.ts';
import { createProviderObjectStore, objectUpkeep } from '../accounts/provider-object-store.ts';
import { createReplyStore } from '../answers/reply-store.ts';
import { createResponseStore } from '../answers/response-store.ts';
import * as tables from '../sql-tables.ts';
import { createCrawlStore } from '../web/crawl-store.ts';
import { bootIsOver } from './boots.ts';
import {
  type Database,
  foreignKeyViolation,
  inTime,
  type Run,
  type Statement,
  sqlState,
  unavailable,
  uniqueViolation,
} from './database.ts';

/** How long callers wait. Absent: until the pool gives up. */
export interface Patience {
  /** A read without an answer by then is given up, and its connection with it. */
  answerMaxMs?: number;
  /** A read or write without an answer by then rejects; what it asked for may be done later. */
  giveUpMs?: number;
}

const words: tables.SqlWords = {
  prefix: 'culvert.',
  forUpdate: 'FOR UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  byBytes: 'COLLATE "C"',
  oneOf: (column, place) => `${column} = ANY (${place})`,
  *lock(kind, name) {
    yield* tables.change('SELECT pg_advisory_xact_lock($1, hashtext($2))', [kind, name]);
  },
};

/** The tables that stores of both databases share. Nothing is to be closed: the connections are the server's. */
export function tablesIn(
  { rest }: Pick<Database, 'rest'>,
  { answerMaxMs, giveUpMs }: Patience = {},
): tables.ClosableTables {
  const named = (sql: tables.Sql): Statement => {
    const statement: Statement = typeof sql === 'string' ? { text: sql } : sql;
    return answerMaxMs === undefined ? statement : { ...statement, answerMaxMs };
  };
  const soon = <T>(result: Promise<T>) => reported(giveUpMs === undefined ? result : inTime(result, giveUpMs));
  const transaction = <T>(kind: tables.TransactionKind, work: () => tables.Work<T>) =>
    soon(rest.transaction(kind === 'snapshot' ? 'snapshot' : 'write', (run) => done(run, work)));
  const rows: tables.SqlTables['rows'] = (sql, values) =>
    soon(rest.run(named(sql), values).then((found) => found.rows));
  const write: tables.SqlTables['write'] = (steps) => {
    const [only, ...others] = steps;
    if (only === undefined || others.length > 0) return transaction('write', () => tables.changeAll(steps));
    return soon(rest.run(only.sql, only.values).then(({ changes }) => [changes]));
  };
  return { ...words, ...tables.shortWords({ rows, write }), rows, write, transaction, close: async () => undefined };
}

async function done<T>(run: Run, work: () => tables.Work<T>): Promise<T> {
  const statements = work();
  for (let step = statements.next(); ; ) {
    if (step.done === true) return step.value;
    const { sql, values } = step.value;
    step = statements.next(await run(sql, values));
  }
}

/** The same as `unavailable`, with a constraint of the schema as a `Conflict`. */
async function reported<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof tables.Conflict) throw error;
    if (sqlState(error) === foreignKeyViolation) throw new tables.Conflict('absent', error);
    if (sqlState(error) === uniqueViolation) throw new tables.Conflict('exists', error);
    return unavailable(Promise.reject(error));
  }
}

// All replicas share what is here. Stores that need no more than `tablesIn` are made where they are used.

/** One row: what does not come at once comes never, and the next look takes another connection. */
const versionAnswerMaxMs = 1_000;
/** A caller waits for it: as for a reservation. */
const callerWaitsMs: number = 250;
/** A commit is there in milliseconds. */
const lookAgainAfterMs = 150;

export function createPostgresAccountStore({ keys, rest }: Pick<Database, 'keys' | 'rest'>): AccountStore {
  return createAccountStore({
    ...tablesIn({ rest }),
    quick: tablesIn({ rest: keys }, { answerMaxMs: versionAnswerMaxMs }),
    keys: tablesIn({ rest: keys }),
  });
}

type Quick = Pick<Database, 'opens' | 'rest'>;

export function createPostgresReplyStore({ opens, rest }: Quick, giveUpMs = callerWaitsMs) {
  const quick = tablesIn({ rest: opens }, { giveUpMs });
  return createReplyStore({ ...tablesIn({ rest }), bootIsOver }, quick);
}

export function createPostgresProviderObjectStore({ opens, rest }: Quick, giveUpMs = callerWaitsMs) {
  const tables = tablesIn({ rest });
  const quick = tablesIn({ rest: opens }, { giveUpMs });
  return createProviderObjectStore({ ...tables, lookAgainAfterMs, upkeep: objectUpkeep(tables) }, quick);
}

export function createPostgresResponseStore(database: Pick<Database, 'rest'>): ResponseStore {
  return createResponseStore({ ...tablesIn(database), bootIsOver });
}

/** Longer than any delay between two pages of a host. */
const turnRetentionMs = 86_400_000;

/** A key or shape may be longer than an index can hold: their hashes are columns. */
export function createPostgresCrawlStore(database: Pick<Database, 'rest'>): CrawlStore {
  const tables = tablesIn(database);
  const store = createCrawlStore({
    ...tables,
    pages: { key: 'key_hash', shape: 'shape_hash', value: (place) => `sha256(convert_to(${place}, 'UTF8'))` },
    given: 'jsonb_array_elements($2::jsonb) WITH ORDINALITY AS found (value, at)',
  });
  return {
    ...store,
    async prune(nowMs) {
      await tables.run('DELETE FROM culvert.crawl_turn WHERE began_ms < $1', [nowMs - turnRetentionMs]);
      return store.prune(nowMs);
    },
  };
}

/** A replica whose clock is ahead, or a host that many wait for, delays nobody for longer, except for its own delay. */
const waitMaxMs = 600_000;

export function createPostgresCrawlPace({ rest }: Pick<Database, 'rest'>): SharedPace {
  return {
    async take(host, delayMs, nowMs) {
      const { rows } = await unavailable(rest.run<{ began_ms: number }>(turn, [host, delayMs, nowMs, waitMaxMs]));
      return rows[0]!.began_ms - nowMs;
    },
  };
}

const turn = `
  INSERT INTO culvert.crawl_turn AS last (host_hash, began_ms) VALUES (sha256(convert_to($1, 'UTF8')), $3::bigint)
  ON CONFLICT (host_hash) DO UPDATE
    SET began_ms = greatest($3::bigint, least(last.began_ms + $2::bigint, $3::bigint + greatest($2::bigint, $4::bigint)))
  RETURNING began_ms`;
