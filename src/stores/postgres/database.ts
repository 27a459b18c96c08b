import { setTimeout as pause } from 'node:timers/promises';
import type { ClientBase, ClientConfig, Pool as PgPool, PoolConfig, QueryResult } from 'pg';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createPatience, patiently, seedWaitMaxMs } from '../patience.ts';
import { type Pooled, placeOf, severalHosts } from '../several-hosts.ts';

/** SQL that every connection prepares once, under its name. */
export interface Statement {
  /** Absent: it is not prepared. */
  name?: string;
  text: string;
  /** Given up, and its connection with it, without an answer by then; that of its pool otherwise. */
  answerMaxMs?: number;
}

export interface Result<Row> {
  rows: Row[];
  /** Rows inserted, updated or deleted. */
  changes: number;
}

/** A row by column name: integers as numbers (throws above 2^53), bytea as Buffer, everything else as pg gives it. */
export type Row = Record<string, unknown>;

/** Text (unprepared) or a statement. NUL, which PostgreSQL cannot keep in text, becomes U+FFFD. */
export type Run = <R = Row>(sql: Statement | string, values?: readonly unknown[]) => Promise<Result<R>>;

/** `snapshot`: reads of one instant. `write`: read committed. */
export type TransactionKind = 'write' | 'snapshot';

/** Connections for one purpose, so that none waits behind another's statements. */
export interface Connections {
  run: Run;
  /**
   * Rolled back when `work` throws. A COMMIT whose answer is lost was done, or was not: rejects with `CommitUnknown` where the
   * server does not say which within some seconds.
   */
  transaction<T>(kind: TransactionKind, work: (run: Run) => Promise<T>): Promise<T>;
  /** One whose end the caller sees to, in `finally`. */
  begin(kind: TransactionKind): Promise<Transaction>;
}

export interface Transaction {
  run: Run;
  end(how: 'commit' | 'rollback'): Promise<void>;
}

/** The seam over PostgreSQL: all queries go through these pools. */
export interface Database {
  /** Reservations: requests wait for them. */
  opens: Connections;
  /** Settlements, one batch at a time. */
  closes: Connections;
  /** Keys and accounts: a revocation waits for no other query, nor for one that a lost connection never answers. */
  keys: Connections;
  /** Changes of accounts, queries, housekeeping. */
  rest: Connections;
  /** Without user or password: `127.0.0.1:5432/culvert`. */
  place: string;
  /** Calls `listener` with each answer of the server, on whichever connection. */
  onAnswer(listener: () => void): void;
  close(): Promise<void>;
}

export interface PoolSizes {
  opens: number;
  closes: number;
  keys: number;
  rest: number;
  /** Ms that connections and statements may take beyond their limits. Tests set it: a busy machine starts many servers at once. */
  patienceMs?: number;
}

/** Eight connections a replica, opened on demand: a server of 100 connections carries twelve replicas. */
export const poolSizes: PoolSizes = { opens: 2, closes: 1, keys: 1, rest: 4 };

/** A reservation that is not committed by then is refused: the server should stop trying too. */
const openStatementTimeoutMs = 1_000;
const closeStatementTimeoutMs = 5_000;
const restStatementTimeoutMs = 10_000;
/** Beyond the server's own limit: only a server that no longer answers at all comes to this. */
const silenceMs = 750;
const connectTimeoutMs = 1_000;
const idleTimeoutMs = 60_000;
/**
 * To compile a sum of many parts takes PostgreSQL ten times as long as to run it. By 50,000 users the usual 4 MB of memory
 * would write 500 MB to its disk.
 */
const forSums = `SET jit = off;
  SELECT set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, 32768) || 'kB', false)`;

/**
 * The pools over a `postgres://` URL, whose user and password may change. Connects to nothing yet; a lost server is found
 * again by the next statement, and never throws outside of one. Of several hosts one takes writes. `pg` is loaded here, at first use. With `pgbouncer=true` in its query, as other clients have it,
 * a pooler may give each transaction another connection: nothing is left on one, and no start of one has parameters.
 */
export async function connect(storeUrl: string | (() => string), sizes: PoolSizes = poolSizes): Promise<Database> {
  const { default: pg } = await import('pg');
  const urlNow = typeof storeUrl === 'string' ? () => storeUrl : storeUrl;
  const url = urlNow();
  const pooled = withoutPgbouncer(url) !== url;
  const hosts = severalHosts(urlNow, (error) => /^(25006|57...)?$/.test(sqlState(error) ?? ''));
  class Client extends pg.Client {
    constructor(options?: ClientConfig) {
      super({ ...options, connectionString: withoutPgbouncer(hosts?.url() ?? urlNow()) });
    }
  }
  const patienceMs = sizes.patienceMs ?? 0;
  const shared: PoolConfig = {
    Client,
    application_name: 'culvert',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs + patienceMs,
    idleTimeoutMillis: idleTimeoutMs,
    types: { getTypeParser: (oid, format) => (oid === int8Oid ? safeInteger : pg.types.getTypeParser(oid, format)) },
  };
  const pools: PgPool[] = [];
  const listeners: (() => void)[] = [];
  const onAnswer = () => {
    for (const listener of listeners) listener();
  };
  const pool = (max: number, usualTimeoutMs: number, onConnect?: (client: ClientBase) => Promise<unknown>) => {
    const statementTimeoutMs = usualTimeoutMs + patienceMs;
    const made = new pg.Pool({
      ...shared,
      max,
      async onConnect(client) {
        await hosts?.refuseReplica(client);
        if (!pooled) await onConnect?.(client);
      },
      ...(!pooled && { statement_timeout: statementTimeoutMs }),
      query_timeout: statementTimeoutMs + silenceMs,
    });
    // A connection that breaks while idle leaves the pool. Without a listener it would end the process.
    made.on('error', () => {});
    made.on('connect', (client) => client.on('error', () => {}));
    pools.push(made);
    return {
      made,
      connections: connectionsOf(hosts?.over(made) ?? made, onAnswer, refused, pooled ? statementTimeoutMs : null),
    };
  };
  const rest = pool(sizes.rest, restStatementTimeoutMs, (client) => client.query(forSums));
  // Polls would keep theirs open for good, while a server of few connections has none left for requests.
  function refused(error: unknown): never {
    for (let idle = sqlState(error) === '53300' ? rest.made.idleCount : 0; idle > 0; idle--)
      rest.made.connect().then(
        (client) => client.release(true),
        () => {},
      );
    throw error;
  }
  return {
    opens: pool(sizes.opens, openStatementTimeoutMs).connections,
    closes: pool(sizes.closes, closeStatementTimeoutMs).connections,
    keys: pool(sizes.keys, restStatementTimeoutMs).connections,
    rest: rest.connections,
    place: placeOf(url),
    onAnswer: (listener) => void listeners.push(listener),
    async close() {
      await Promise.all(pools.map((one) => one.end()));
    },
  };
}

function withoutPgbouncer(url: string): string {
  return url.replace(/([?&])pgbouncer=true(&|$)/, (_, before, behind) => (behind === '' ? '' : before));
}

/** Passes on why a server refused a connection, or a statement. */
type Refused = (error: unknown) => never;

/** `timeoutMs`: bound of each statement, which transactions set for themselves; null: their connections have one. */
function connectionsOf(pool: Pooled, onAnswer: () => void, refused: Refused, timeoutMs: number | null): Connections {
  const bound = timeoutMs === null ? '' : ` SET LOCAL statement_timeout = ${timeoutMs};`;
  const names = timeoutMs === null ? 'named' : 'unnamed';
  const runAlone = runOver(pool, onAnswer, names);
  async function begin(kind: TransactionKind): Promise<Transaction> {
    const client = await pool.connect().catch(refused);
    /** Id of a transaction that writes; null: it only reads. */
    let id: number | null = null;
    try {
      const begun: QueryResult<{ id: number }> | QueryResult<{ id: number }>[] = await client.query(
        beginSql[kind].replace(';', `;${bound}`),
      );
      if (Array.isArray(begun)) id = begun.at(-1)?.rows[0]?.id ?? null;
      onAnswer();
    } catch (error) {
      client.release(true);
      throw error;
    }
    const run = runOver(client, onAnswer, names);
    /** An error that did not come from the server: the next query would wait behind one that is never answered. */
    let lost = false;
    /** Another connection may find a server that does it, or be allowed to. */
    let unfit = false;
    return {
      async run(sql, values) {
        try {
          return await run(sql, values);
        } catch (error) {
          lost ||= sqlState(error) === null;
          unfit ||= unfitStates.has(sqlState(error) ?? '');
          throw error;
        }
      },
      async end(how) {
        const mayCommit = how === 'commit' && !lost;
        try {
          if (lost) throw new Error('the connection was lost');
          await client.query(how === 'commit' ? 'COMMIT' : 'ROLLBACK');
          client.release(unfit);
        } catch (error) {
          client.release(true);
          if (!mayCommit) throw error;
          // All that it read has come.
          if (id === null) return;
          const outcome = await outcomeOf(runAlone, id);
          if (outcome === 'unknown') throw new CommitUnknown(error);
          if (outcome === 'aborted') throw error;
        }
      },
    };
  }

  return {
    run: <R>(...query: Parameters<Run>) => runAlone<R>(...query).catch(refused),
    begin,
    async transaction(kind, work) {
      const transaction = await begin(kind);
      let result: Awaited<ReturnType<typeof work>>;
      try {
        result = await work(transaction.run);
      } catch (error) {
        // Report why it failed, not that it could not even be rolled back.
        await transaction.end('rollback').catch(() => {});
        throw error;
      }
      await transaction.end('commit');
      return result;
    },
  };
}

/** Read-only, as a primary that has become a replica is; without a right, as users are whom a secret manager has replaced. */
const unfitStates: ReadonlySet<string> = new Set(['25006', '42501']);

/** The id comes with the answer to BEGIN. By it another connection finds out what became of an unanswered COMMIT. */
const beginSql = {
  write: 'BEGIN; SELECT txid_current() AS id',
  snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;',
} as const;
const outcomeStatement: Statement = { text: 'SELECT txid_status($1) AS outcome', answerMaxMs: 1_000 };
/** A server that was away for a moment answers by then; a caller waits for it. */
const outcomeMaxMs = 5_000;
const outcomeEveryMs = 100;

/** End of a transaction whose COMMIT has no answer; `unknown` where the server does not say it in time. */
async function outcomeOf(run: Run, id: number): Promise<'committed' | 'aborted' | 'unknown'> {
  const timeout = AbortSignal.timeout(outcomeMaxMs);
  while (!timeout.aborted) {
    const result = await run<{ outcome: string | null }>(outcomeStatement, [id]).catch(() => null);
    const outcome = result?.rows[0]?.outcome;
    if (outcome === 'committed' || outcome === 'aborted') return outcome;
    await pause(outcomeEveryMs);
  }
  return 'unknown';
}

/** The server does not say whether it committed a transaction. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super(`a commit was not answered: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** `unnamed`: another connection may come to run a statement than the one that has prepared it. */
function runOver(connection: Pick<Pooled, 'query'>, onAnswer: () => void, names: 'named' | 'unnamed'): Run {
  return async <R>(sql: Statement | string, values: readonly unknown[] = []) => {
    const query = { ...queryOf(sql), values: values.map(storable) };
    if (names === 'unnamed') delete query.name;
    const result: QueryResult = await connection.query(query);
    onAnswer();
    return { rows: result.rows as R[], changes: result.rowCount ?? 0 };
  };
}

function queryOf(sql: Statement | string): { text: string; name?: string | undefined; query_timeout?: number } {
  if (typeof sql === 'string') return { text: sql };
  const { name, text, answerMaxMs } = sql;
  return answerMaxMs === undefined ? { name, text } : { name, text, query_timeout: answerMaxMs };
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
  return Array.isArray(value) ? value.map(storable) : value;
}

const int8Oid = 20;

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`PostgreSQL holds ${text}, more than an integer of ours can be`);
  return value;
}

/** SQLSTATE of an error from the server (https://www.postgresql.org/docs/current/errcodes-appendix.html), or null. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : null;
}

export const uniqueViolation = '23505';
export const foreignKeyViolation = '23503';

/** Whether the rows themselves cannot be written, now or later (data exception, integrity constraint). */
export function isRowsFault(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && (state.startsWith('22') || state.startsWith('23'));
}

/** Words for an error of the server or its connection, without host and user. */
export function reasonOf(error: unknown): string {
  const state = sqlState(error);
  // It was cancelled at its time limit.
  if (state === '57014') return 'PostgreSQL was not done in time; a report over less time may be';
  if (state === '53300') return 'PostgreSQL has no connection left: raise its limit, or that of its user';
  if (state !== null) return `PostgreSQL refuses it (SQLSTATE ${state})`;
  return 'PostgreSQL cannot be reached';
}

/** Passes a result on. An unreachable database becomes a FailureError `quota-unavailable`; a defect stays as it is. */
export async function unavailable<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof FailureError || isRowsFault(error) || isDefect(error)) throw error;
    const message =
      error instanceof CommitUnknown ? maybeChanged : `The database cannot be used now (${reasonOf(error)}). Retry it.`;
    throw new FailureError({ kind: 'quota-unavailable', message });
  }
}

const maybeChanged =
  'The database did not answer, and this change may have been made. Look whether it was before you send it again.';

/** Rejects after `timeoutMs`, as for a server that does not answer. A later answer is ignored. */
export function inTime<T>(result: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timeout')), timeoutMs);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** SQL that does not fit its tables (class 42), or code of ours that threw. */
function isDefect(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return state.startsWith('42');
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

const probeStatement: Statement = { name: 'probe', text: 'SELECT 1', answerMaxMs: 1_000 };

/** Patience with PostgreSQL: on whichever connection it answers, all who wait for it know. */
export function createAnswerWatch(database: Pick<Database, 'onAnswer' | 'keys'>, clock: Clock) {
  const patience = createPatience(clock);
  database.onAnswer(patience.answered);
  let probing = false;

  function probe(): void {
    if (probing) return;
    probing = true;
    void database.keys
      .run(probeStatement)
      .catch(() => {})
      .finally(() => {
        probing = false;
      });
  }

  return {
    patience,
    /** Asks whether it answers at all: for a request that waits. */
    probe,
    /** For requests that wait for a read: `quota-unavailable` when PostgreSQL is silent. */
    inTime: <T>(read: Promise<T>): Promise<T> =>
      unavailable(
        patiently(patience, read, { onSlow: probe, silence: () => new Error('silence'), maxMs: seedWaitMaxMs }),
      ),
  };
}
