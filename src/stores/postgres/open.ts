import type { StoredBytes } from '../../books/metering/storage/storage-counts.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Migration, NewerSchema, OlderSchema, type SchemaState } from '../migration.ts';
import { storageLooks, storedBytesOf } from '../storage-sizes.ts';
import { holdsRows } from './backup.ts';
import { databaseNowMs } from './boots.ts';
import { type Connections, connect, type Database, type PoolSizes, type Run, sqlState } from './database.ts';
import { migrations } from './schema.ts';

/**
 * PostgreSQL for a server: reached, and with its tables up to date. Rejects with an error that `whyUnusable` turns into
 * a sentence. `onWait` gets a sentence where another replica brings the tables up to date. The stores over it leave
 * closing to the caller.
 */
export async function openPostgres(
  url: string | (() => string),
  sizes?: PoolSizes,
  onWait?: (message: string) => void,
): Promise<Database> {
  const database = await connect(url, sizes);
  try {
    await migrate(database.rest, database.place, undefined, onWait);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A number that no other program takes: the first bytes of `culvert`. */
const lockId = 0x63_75_6c_76;

/**
 * Brings the tables up to date; returns the names of the steps taken. All steps are one transaction under an advisory
 * lock, so of two replicas that start at once the second finds the work done. `onWait` gets a sentence where it waits for
 * the other one. Refuses tables of a newer Culvert.
 */
export async function migrate(
  connections: Connections,
  place: string,
  steps: readonly Migration[] = migrations,
  onWait: (message: string) => void = () => undefined,
): Promise<string[]> {
  // Without the lock first: every start but the first after an upgrade ends here.
  if ((await currentVersion(connections.run)) === steps.length) return [];
  return connections.transaction('write', async (run) => {
    // Another replica's steps may take a while: longer than a statement otherwise may.
    await run(`SET LOCAL statement_timeout = ${migrationTimeoutMs}`);
    const answerMaxMs = migrationTimeoutMs;
    const { rows } = await run<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS free', [lockId]);
    if (rows[0]?.free !== true) {
      onWait(
        `Waiting for another process that brings the tables of ${place} up to date, at most ${migrationTimeoutMs / 60_000} minutes.`,
      );
      await run({ text: 'SELECT pg_advisory_xact_lock($1)', answerMaxMs }, [lockId]);
    }
    const current = await currentVersion(run);
    if (current > steps.length) throw new NewerSchema(`The database ${place}`, current, steps.length, null);
    const pending = steps.filter((step) => step.version > current);
    if (current === 0) await createSchema(run);
    for (const step of pending) {
      await run({ text: step.sql, answerMaxMs });
      await run('INSERT INTO culvert.migration VALUES ($1, $2)', [step.version, step.name]);
    }
    return pending.map((step) => step.name);
  });
}

const migrationTimeoutMs = 600_000;

/** The steps that `migrate` would take. */
export async function pendingMigrations(connections: Connections, place: string): Promise<SchemaState[]> {
  const current = await currentVersion(connections.run);
  const pending = migrations.filter((step) => step.version > current).map((step) => step.name);
  return [{ database: place, current, pending }];
}

async function currentVersion(run: Run): Promise<number> {
  // Not to_regclass: it may answer from before another replica's commit.
  const { rows } = await run(`SELECT FROM pg_tables WHERE schemaname = 'culvert' AND tablename = 'migration'`);
  if (rows.length === 0) return 0;
  const { rows: found } = await run<{ version: number }>(
    'SELECT coalesce(max(version), 0)::bigint AS version FROM culvert.migration',
  );
  return found[0]?.version ?? 0;
}

/** An administrator may have made the schema for a user who may not create one. */
async function createSchema(run: Run): Promise<void> {
  const { rows } = await run(`SELECT FROM pg_namespace WHERE nspname = 'culvert'`);
  if (rows.length === 0) await run('CREATE SCHEMA culvert');
  await run('CREATE TABLE IF NOT EXISTS culvert.migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL)');
}

/**
 * Why PostgreSQL cannot be used at a start, as a sentence without user or password, when that is what `error` says.
 * Null for every other error, which is a defect of ours and deserves its stack.
 */
export function whyUnusable(error: unknown, place: string): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof NewerSchema || error instanceof OlderSchema) return `${error.message}.`;
  const hint = 'Repair it, or name another database (storage.database).';
  const state = sqlState(error);
  if (state !== null) {
    const why = wordsOfState[state] ?? wordsOfClass[state.slice(0, 2)];
    return why === undefined ? null : `The database ${place} cannot be used: ${why} (SQLSTATE ${state}). ${hint}`;
  }
  const tls = whyNoTls(error);
  if (tls !== null) return `The database ${place} cannot be used: ${tls}`;
  const code = socketCode(error);
  if (code !== null) return `The database ${place} cannot be reached: ${wordsOfSocket[code] ?? code}. ${hint}`;
  if (/terminated|timeout|SSL|SASL/i.test(error.message))
    return `The database ${place} cannot be reached: ${error.message}. ${hint}`;
  return null;
}

/** Whether it may be usable in a moment: not there yet, starting, or full. A wrong password stays wrong. */
export function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return state === '53300' || state.startsWith('57') || state.startsWith('08');
  return !(error instanceof NewerSchema) && !(error instanceof Error && whyNoTls(error) !== null);
}

/** `sslmode` of the URL asks for something that is not available; waiting does not help. */
function whyNoTls(error: Error): string | null {
  const { message } = error;
  if (/does not support SSL/.test(message)) return 'it does not support TLS. Leave sslmode out of storage.database.';
  if ('syscall' in error && error.syscall === 'open')
    return `a file that storage.database names cannot be read (${message}).`;
  const code = 'code' in error ? String(error.code) : '';
  if (!/CERT|TLS|SIGNATURE/.test(code) && !/certificate/i.test(message)) return null;
  return `its certificate is refused (${message}). Name its CA in storage.database (?sslmode=verify-full&sslrootcert=/path/to/ca.pem), and the host as the certificate does.`;
}

/** Both addresses of a name that has two may have refused: then the error holds theirs. */
function socketCode(error: Error): string | null {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error) || !('code' in first) || !('syscall' in first)) return null;
  // A server of ours that cannot listen is not a fault of the database.
  if (first.syscall === 'listen' || first.syscall === 'bind') return null;
  return String(first.code);
}

const wordsOfSocket: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up now',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ECONNRESET: 'it closed the connection',
};

const wordsOfState: Readonly<Record<string, string>> = {
  '28P01': 'the password is wrong',
  '28000': 'this user may not connect',
  '3D000': 'there is no such database',
  '42501': 'this user may not create or use the schema culvert',
  '25006': 'it is read-only',
  '57P03': 'it is starting up or shutting down',
  '53300': 'it has no connection left',
};

/** Connection exceptions, authorization, resources, operator's intervention, its own disk. */
const wordsOfClass: Readonly<Record<string, string>> = {
  '08': 'the connection failed',
  '28': 'this user may not connect',
  '53': 'it is short of resources',
  '57': 'it was interrupted',
  '58': 'its disk or system fails',
};

/** Facts of a server, for `culvert doctor`. */
export async function postgresFacts({ run }: Pick<Connections, 'run'>, clock: Clock) {
  const sentMs = clock.wallMs();
  const { rows } = await run<{ version: string; now_ms: number }>(
    `SELECT current_setting('server_version') AS version, ${databaseNowMs} AS now_ms`,
  );
  const answeredMs = clock.wallMs();
  return {
    /** Such as `PostgreSQL 15.4`. */
    version: `PostgreSQL ${rows[0]?.version ?? ''}`,
    /** Whether it holds no account, key, request or other row of ours; its tables may not exist yet. */
    empty: !(await holdsRows(run)),
    /** Ms by which its clock is before (negative) or after ours, give or take the way there. */
    clockAheadMs: Math.round((rows[0]?.now_ms ?? sentMs) - (sentMs + answeredMs) / 2),
  };
}

/** Bytes of accounts in the tables that replicas share. */
export async function postgresStorageSizes({ rest }: Pick<Database, 'rest'>, nowMs: number): Promise<StoredBytes[]> {
  const sizes: StoredBytes[] = [];
  // One after the other: it is nobody's hurry, and other queries need the connections.
  for (const look of storageLooks) {
    sizes.push(...storedBytesOf(look, (await rest.run(look.sql('culvert.', nowMs))).rows));
  }
  return sizes;
}

/** Id of this database's tables, by which counters elsewhere know whose they are. */
export async function readBooksId(run: Run): Promise<string> {
  const { rows } = await run<{ id: string }>('SELECT id FROM culvert.books');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('culvert.books has no row');
  return id;
}
