import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AccountStore, Stored } from '../../books/auth/account-store.ts';
import type { ProviderObjectStore } from '../../books/auth/provider-object-store.ts';
import type { BatchStore } from '../../books/metering/batch-store.ts';
import type { BodyStore } from '../../books/metering/body-store.ts';
import type { ResponseStore } from '../../books/metering/response-store.ts';
import { refuseWithoutRoom } from '../../kernel/file-store.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import type { CrawlStore } from '../../tools/crawl/crawl-store.ts';
import { createAccountStore } from '../accounts/account-store.ts';
import { createProviderObjectStore } from '../accounts/provider-object-store.ts';
import { createBatchStore } from '../answers/batch-store.ts';
import { createBodyStore } from '../answers/body-store.ts';
import { createReplyStore } from '../answers/reply-store.ts';
import { createResponseStore } from '../answers/response-store.ts';
import type { Migration } from '../migration.ts';
import type { ClosableTables } from '../sql-tables.ts';
import { createCrawlStore } from '../web/crawl-store.ts';
import {
  batchMigrations,
  bodyMigrations,
  crawlMigrations,
  culvertMigrations,
  laterMigrations,
  openCulvertDatabase,
  responseMigrations,
  vectorStoreMigrations,
} from './culvert-schema.ts';
import { isPassing, isSmallDatabase, naming, sqliteCode, unavailable } from './database.ts';
import { createHousekeeper, createLateCheckpoint, type Housekeeper } from './housekeeper.ts';
import { LogSync } from './ledger-writer.ts';
import {
  migrateWithCopy,
  migrationBusyTimeoutMs,
  migrationState,
  newerSchema,
  openMigrated,
  stateOfFile,
} from './migrations.ts';
import { tablesIn } from './tables.ts';

/** Tables whose commits a thread makes durable later. Upkeep that takes long may run there too. */
export interface LateTables extends ClosableTables {
  housekeeper: Housekeeper;
}

/** The tables of the database in `file`. A power cut may take the last commits, but for those that are `durable`. */
function openTables(options: {
  file: string;
  /** Noun for its content, in messages. */
  noun: string;
  migrations: readonly Migration[];
  /** For statements with `bootIsOver`. */
  isOver?: (boot: string) => boolean;
  /** How long a write waits for a checkpoint; default: as a transaction does. */
  waitMaxMs?: number;
  /** Called with housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}): LateTables {
  const { file, noun, migrations, isOver, onTrouble, ...patience } = options;
  const database = openMigrated(file, 'checkpoint', (opened) => migrateWithCopy(opened, migrations));
  database.exec('PRAGMA busy_timeout = 0');
  if (isOver !== undefined) database.define('boot_is_over', (boot) => (isOver(String(boot)) ? 1 : 0));
  const housekeeper = createHousekeeper(file);
  const log = createLateCheckpoint(database, housekeeper, (error) =>
    onTrouble(`${noun}: checkpoint failed: ${String(error)}`),
  );
  const logSync = new LogSync(file);
  return {
    ...tablesIn(database, {
      ...patience,
      wrote: log.wrote,
      syncs: { which: 'durable ones', sync: () => logSync.sync() },
    }),
    housekeeper,
    async close() {
      await housekeeper.close();
      await logSync.close();
      database.close();
    },
  };
}

/** The tables of `culvert.db`, for a store that both databases share. An acknowledged change survives a power cut. */
export function openCulvertTables(file: string): ClosableTables {
  const database = openCulvertDatabase(file, 'checkpoint');
  const logSync = new LogSync(file);
  return {
    ...tablesIn(database, { syncs: { which: 'every change', sync: () => logSync.sync() } }),
    async close() {
      await logSync.close();
      database.close();
    },
  };
}

/** Opens the tables of a database of the data folder by its file's name; null: it is not there. */
export function sqliteSealedTables(folder: string, onTrouble: LateFile['onTrouble']) {
  return async (name: string): Promise<ClosableTables | null> => {
    const file = join(folder, name);
    if (!existsSync(file)) return null;
    const migrations = laterMigrations[name] ?? culvertMigrations;
    return openTables({ file, noun: 'sealed rows', migrations, waitMaxMs, onTrouble });
  };
}

export interface LateFile {
  file: string;
  /** Called with housekeeping that failed. For the log. */
  onTrouble: (message: string) => void;
}

/** Opens or creates `culvert.db`. An acknowledged write survives a power cut. */
export function openSqliteAccountStore(file: string): AccountStore {
  const tables = openCulvertTables(file);
  return createAccountStore({ ...tables, quick: tables, keys: tables });
}

/**
 * Accounts, keys and what operators stored in the `culvert.db` in `file`, for a look that changes no file of an earlier
 * version: of such a file it reads a copy, brought up to date in a folder for temporary files.
 */
export async function readSqliteAccounts(file: string): Promise<Stored> {
  const earlier = new DatabaseSync(file, { readOnly: true, timeout: migrationBusyTimeoutMs });
  let folder: string | null = null;
  try {
    const { current, pending } = naming(file, () => migrationState(earlier, culvertMigrations));
    const isOlder = current > 0 && pending.length > 0;
    // It holds hashes of keys: only this user may open a folder of `mkdtemp`.
    if (isOlder) folder = mkdtempSync(join(tmpdir(), 'culvert-look-'));
    const copy = folder === null ? file : join(folder, basename(file));
    if (isOlder) naming(copy, () => earlier.prepare('VACUUM INTO ?').run(copy));
    const store = openSqliteAccountStore(copy);
    return await store.load().finally(() => store.close());
  } finally {
    earlier.close();
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Throws the error of the first database that a newer Culvert wrote, though it is opened later: a server would start, and
 * then answer with errors. One that cannot be read is left to its first use, since the rest can be served.
 */
export function refuseNewerDatabases(folder: string): void {
  for (const [name, migrations] of Object.entries(laterMigrations)) {
    const file = join(folder, name);
    if (existsSync(file)) refuseNewer(file, migrations);
  }
}

function refuseNewer(file: string, migrations: readonly Migration[]): void {
  let current = 0;
  try {
    ({ current } = stateOfFile(file, migrations));
  } catch (error) {
    if (sqliteCode(error) === null) throw error;
  }
  if (current > migrations.length) throw newerSchema(file, current, migrations.length);
}

/** Which processes are over. */
interface Boots {
  /** This one. */
  bootId: string;
  /** Default: one server a folder, so whatever runs under another boot runs no more. */
  isOver?: ((boot: string) => boolean) | undefined;
}

/** SQL: whether the process with the boot in this column is over. */
const bootIsOver = (column: string) => `boot_is_over(${column})`;

/** Replies in `culvert.db`. A power cut may take the last ones, which costs a repeat its reply. */
export function openSqliteReplyStore({ bootId, isOver = (boot) => boot !== bootId, ...late }: LateFile & Boots) {
  const tables = openTables({ ...late, noun: 'replies', migrations: culvertMigrations, isOver });
  return createReplyStore({ ...tables, bootIsOver });
}

/**
 * Objects at providers in `culvert.db`. A power cut may take the last ones, which are then as unknown as those of others.
 * A tenant may have a million: a thread removes them.
 */
export function openSqliteProviderObjectStore({
  others = 'alone',
  ...late
}: LateFile & { others?: 'alone' | 'may-live' }): ProviderObjectStore {
  const tables = openTables({ ...late, noun: 'objects at providers', migrations: culvertMigrations });
  const { trimObjects, sweepObjects } = tables.housekeeper;
  return createProviderObjectStore({
    ...tables,
    lookAgainAfterMs: others === 'alone' ? null : lookAgainAfterMs,
    upkeep: { trim: trimObjects, sweep: sweepObjects },
  });
}

/** Another worker writes an id this long after it has given it out, at most. */
const lookAgainAfterMs = 150;

/** Kept responses and conversations in `responses.db`. A power cut may take the last ones. */
export function openSqliteResponseStore({
  bootId,
  isOver = (boot) => boot !== bootId,
  ...late
}: LateFile & Boots): ResponseStore {
  const tables = openTables({ ...late, noun: 'responses', migrations: responseMigrations, isOver });
  return createResponseStore({ ...tables, bootIsOver });
}

/** Uploaded files and batches in `batches.db`. A power cut may take the last lines, which are then asked again. */
export function openSqliteBatchStore(late: LateFile): BatchStore {
  return createBatchStore(openTables({ ...late, noun: 'batches', migrations: batchMigrations, waitMaxMs }));
}

/** Bodies of requests in `bodies.db`. A power cut may take the last ones. */
export function openSqliteBodyStore(late: LateFile): BodyStore {
  return createBodyStore(openTables({ ...late, noun: 'bodies', migrations: bodyMigrations, waitMaxMs }));
}

/** Tables of vector stores in `vector-stores.db`: where it is, a start continues to read their files. */
export function openVectorStoreTables(late: LateFile): ClosableTables {
  return openTables({ ...late, noun: 'vector stores', migrations: vectorStoreMigrations });
}

/** A checkpoint of what a batch writes may take longer than callers wait for other databases. */
const waitMaxMs = 10_000;

/**
 * Crawls in `crawl.db`. Of pages a power cut may take the last few, which are read again: a sync for each held up the loop
 * for 2 ms.
 */
export function openSqliteCrawlStore(late: LateFile): CrawlStore {
  return createCrawlStore({
    ...openTables({ ...late, noun: 'crawls', migrations: crawlMigrations }),
    pages: { key: 'key', shape: 'shape', value: (place) => place },
    given: '(SELECT value, key AS at FROM json_each($2)) AS found',
  });
}

/** Opens a database of the data folder that is brought up to date by then. */
export function openedApart<Options extends { file: string }, Store>(
  options: Options,
  open: (options: Options) => Store | Promise<Store>,
): () => Promise<Store> {
  return async () => {
    await migrateApart(options.file);
    try {
      return await open(options);
    } catch (error) {
      if (isPassing(sqliteCode(error))) throw unavailable(new Error('it cannot be opened'));
      refuseWithoutRoom(error, 'The database cannot be opened now. Retry it.');
    }
  };
}

/**
 * Brings a large file of an earlier version up to date in a thread: its copy may take minutes, and requests are served
 * by then. Never rejects: who opens the file afterwards meets the same trouble, and has the words for it.
 */
async function migrateApart(file: string): Promise<void> {
  const thread = createWorkThread(new URL('./file-worker.ts', import.meta.url), 'thread of migrations');
  try {
    if (!existsSync(file) || isSmallDatabase(file)) return;
    const { current, pending } = stateOfFile(file, laterMigrations[basename(file)] ?? []);
    if (current > 0 && pending.length > 0)
      await thread.ask((id) => ({ message: { id, file, work: 'migrate' }, transfer: [] }));
  } catch {
    // Opening it fails, too.
  } finally {
    await thread.close();
  }
}
