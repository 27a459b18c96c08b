import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bucketsOf, callMilliIn, scopesOf } from '../books/metering/counter-scope.ts';
import type { Counters } from '../books/metering/counters.ts';
import { MemoryCounters } from '../books/metering/memory-counters.ts';
import type { RecordOrder } from '../books/metering/record-store.ts';
import { crashedEvent } from '../books/metering/settlement.ts';
import { booksWithOpen, createLocalOnLoss } from '../books/metering/state-loss.ts';
import { note } from '../cli/print.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { FailureError } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { workerApart } from '../kernel/leased-jobs.ts';
import { namingLate, openEmbeddedBooks } from '../processes/books/embedded-books.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { Seat } from '../processes/worker-seat.ts';
import { createMcpGrantStore } from '../stores/accounts/mcp-grant-store.ts';
import { createSessionStore } from '../stores/accounts/session-store.ts';
import { createAlertStore } from '../stores/answers/alert-store.ts';
import { createBatchStore } from '../stores/answers/batch-store.ts';
import { createBodyStore } from '../stores/answers/body-store.ts';
import { createNoticeStore } from '../stores/answers/notice-store.ts';
import { createPictureSizes } from '../stores/answers/picture-sizes.ts';
import { later, type Stores } from '../stores/opened-stores.ts';
import { takeLease, takeNoLease } from '../stores/postgres/boots.ts';
import { openPostgresLedger } from '../stores/postgres/ledger.ts';
import { mayPass, openPostgres, postgresStorageSizes, readBooksId, whyUnusable } from '../stores/postgres/open.ts';
import { createPostgresPageStore } from '../stores/postgres/page-store.ts';
import {
  createPostgresAccountStore,
  createPostgresCrawlPace,
  createPostgresCrawlStore,
  createPostgresProviderObjectStore,
  createPostgresReplyStore,
  createPostgresResponseStore,
  tablesIn,
} from '../stores/postgres/stores.ts';
import { openRedisCounters } from '../stores/redis/open-counters.ts';
import { placeOf } from '../stores/several-hosts.ts';
import { type DataFolder, folderIdOf } from '../stores/sqlite/data-folder.ts';
import { naming } from '../stores/sqlite/database.ts';
import { createSqlitePageThread } from '../stores/sqlite/page-thread.ts';
import { createStorageSizes } from '../stores/sqlite/storage-sizes.ts';
import * as sqlite from '../stores/sqlite/stores.ts';
import { lateVectorStores } from '../stores/vectors/late-vector-stores.ts';
import { createVectorRegistry } from '../stores/vectors/vector-registry.ts';

export interface StoreOptions {
  config: Config;
  folder: DataFolder;
  clock: Clock;
  /** Present in a worker, whose primary has the books of the embedded storage. */
  seat?: Seat | undefined;
  /** Absent: no sink is to get records. */
  order?: RecordOrder | undefined;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/**
 * Opens what `storage` names. The caller holds the data folder's lock. Throws `StartRefused` where the operator can
 * mend it.
 */
export function openStores(options: StoreOptions): Promise<Stores> {
  return options.config.storage.database === 'sqlite' ? openEmbedded(options) : openShared(options);
}

async function openEmbedded({ folder, clock, seat, order, onTrouble }: StoreOptions): Promise<Stores> {
  const bootId = seat?.given.boot ?? randomUUID();
  // One server a folder: whatever ran under another boot runs no more, unless another worker has it.
  const isOver = seat?.isOver ?? ((boot: string) => boot !== bootId);
  const others = seat === undefined ? 'alone' : 'may-live';
  const worker = seat?.jobWorker ?? workerApart(bootId, 'alone');
  if (seat === undefined) sqlite.refuseNewerDatabases(folder.path);
  // A statement that meets damage does not know its file.
  const accounts = naming(folder.culvertDb, () => sqlite.openSqliteAccountStore(folder.culvertDb));
  const { ledger, counters, tally, pace } =
    seat === undefined
      ? { ...(await openEmbeddedBooks({ folder, bootId, clock, order, onTrouble })), tally: null, pace: null }
      : (await import('../processes/books/remote-books.ts')).askBooks(seat, order);
  const replies = naming(folder.culvertDb, () =>
    sqlite.openSqliteReplyStore({ file: folder.culvertDb, bootId, isOver, onTrouble }),
  );
  const notices = naming(folder.culvertDb, () => createNoticeStore(sqlite.openCulvertTables(folder.culvertDb)));
  const alerts = naming(folder.culvertDb, () => createAlertStore(sqlite.openCulvertTables(folder.culvertDb)));
  const registry = later(() => createVectorRegistry(sqlite.openCulvertTables(folder.culvertDb)));
  const sessions = later(() => createSessionStore(sqlite.openCulvertTables(folder.culvertDb)));
  const pictures = later(() => createPictureSizes(sqlite.openCulvertTables(folder.culvertDb)));
  const mcpGrants = later(() => createMcpGrantStore(sqlite.openCulvertTables(folder.culvertDb)));
  const pages = createSqlitePageThread(join(folder.path, 'pages.db'));
  const crawlDb = join(folder.path, 'crawl.db');
  const crawls = later(sqlite.openedApart({ file: crawlDb, onTrouble }, sqlite.openSqliteCrawlStore));
  const responsesDb = join(folder.path, 'responses.db');
  const responses = later(
    sqlite.openedApart({ file: responsesDb, bootId, isOver, onTrouble }, sqlite.openSqliteResponseStore),
  );
  const batchesDb = join(folder.path, 'batches.db');
  const batches = later(sqlite.openedApart({ file: batchesDb, onTrouble }, sqlite.openSqliteBatchStore));
  const bodiesDb = join(folder.path, 'bodies.db');
  const bodies = later(sqlite.openedApart({ file: bodiesDb, onTrouble }, sqlite.openSqliteBodyStore));
  const storesDb = join(folder.path, 'vector-stores.db');
  const sizes = createStorageSizes(folder.path);
  return {
    accounts: { ...accounts, load: () => namingLate(folder.culvertDb, accounts.load()) },
    pages,
    // The folder's lock proves that other servers, which worked at them before, are dead.
    crawls: async () => ({ store: await crawls.open(), worker, pace }),
    mayHaveCrawls: () => existsSync(crawlDb),
    providerObjects: async () => sqlite.openSqliteProviderObjectStore({ file: folder.culvertDb, others, onTrouble }),
    responses: responses.open,
    mayHaveResponses: () => existsSync(responsesDb),
    batches: async () => ({ store: await batches.open(), worker }),
    mayHaveBatches: () => existsSync(batchesDb),
    bodies: bodies.open,
    mayHaveBodies: () => existsSync(bodiesDb),
    vectorStores: sqlite.openedApart({ file: storesDb, onTrouble }, (of) =>
      lateVectorStores(sqlite.openVectorStoreTables(of), worker),
    ),
    mayHaveVectorStores: () => existsSync(storesDb),
    sealedTables: sqlite.sqliteSealedTables(folder.path, onTrouble),
    sessions: sessions.open,
    mcpGrants: mcpGrants.open,
    vectorRegistry: registry.open,
    ledger,
    counters,
    tally,
    hints: null,
    replies,
    notices,
    alerts,
    storageSizes: sizes.read,
    pictures: pictures.open,
    folderWriters: seat === undefined ? 'one' : 'several',
    urls: { database: 'sqlite', state: 'memory' },
    booksId: async () => bootId,
    bootId,
    // The primary asks its workers itself.
    replicas: seat === undefined ? null : { report() {}, seen: seat.primary.processes },
    troubles: () => ({ ledger: ledger.trouble(), counters: counters.trouble() }),
    async close() {
      await sizes.close();
      await counters.close();
      await ledger.shutdown();
      const late = [crawls, responses, batches, bodies, registry, sessions, pictures, mcpGrants];
      for (const one of [replies, notices, alerts, pages, ...late, accounts]) await one.close();
    },
  };
}

/** Interval at which every replica looks for reservations of dead replicas. */
const recoverIntervalMs = 10_000;

async function openShared({ config, folder, clock, seat, order, onTrouble }: StoreOptions): Promise<Stores> {
  const { storage } = config;
  const urls = { database: storage.database, state: storage.state };
  const bootId = seat?.given.boot ?? randomUUID();
  const patient = createPatient(placeOf(storage.database), onTrouble);
  const database = await patient(() => openPostgres(() => urls.database, undefined, toLogAndStderr(onTrouble)));

  const folderId = folderIdOf(folder);
  const lease = await patient(() =>
    storage.state === 'memory' ? takeLease({ database, folderId, bootId, clock }) : takeNoLease({ database, folderId }),
  );
  if (lease.kind === 'held') {
    await database.close();
    throw new StartRefused(lease.message);
  }
  const ledger = await openPostgresLedger({
    database,
    bootId,
    clock,
    chargeCrashed: crashedEvent,
    bucketsOf,
    ...(order !== undefined && { order }),
    patient,
    onTrouble,
  });
  const booksId = () => readBooksId(database.rest.run);
  /** For a part of every limit, while Redis is lost. */
  const memory = (share: () => number) => new MemoryCounters({ clock, books: booksWithOpen(ledger), share });
  const { counters, tally, hints } =
    storage.state === 'memory'
      ? { counters: await openMemoryCounters(), tally: null, hints: null }
      : await openSharedCounters();

  async function openMemoryCounters(): Promise<Counters> {
    return new MemoryCounters({ clock, books: ledger, startMs: await patient(() => ledger.newestBucketMs()) });
  }

  async function openSharedCounters(): Promise<Pick<Stores, 'counters' | 'tally' | 'hints'>> {
    const rules = { scopesOf, callMilliIn };
    const livingBoots = () => ledger.livingBoots();
    return openRedisCounters(
      { url: () => urls.state, booksId: await patient(booksId), books: ledger, rules, clock, onTrouble },
      (shared) =>
        storage.on_state_loss === 'deny' ? shared : createLocalOnLoss({ shared, local: memory, livingBoots }),
    );
  }

  const alone = workerApart(bootId, storage.state === 'memory' ? 'alone' : 'may-live');
  const worker = { ...(seat?.jobWorker ?? alone), aheadMs: ledger.aheadMs };
  worker.onDeath((boot) => void ledger.bury(boot).catch(() => undefined));
  const stopRecovering = every(recoverIntervalMs, () => {
    ledger.recover().then(
      (requests) => {
        if (requests > 0) onTrouble(`${requests} requests of a dead replica were charged with their estimates`);
      },
      // The ledger itself says when it cannot be reached.
      () => undefined,
    );
  });

  return {
    accounts: createPostgresAccountStore(database),
    pages: { ...createPostgresPageStore(database), close: async () => undefined },
    async crawls() {
      const pace = worker.living !== null ? null : createPostgresCrawlPace(database);
      return { store: createPostgresCrawlStore(database), worker, pace };
    },
    mayHaveCrawls: () => true,
    providerObjects: async () => createPostgresProviderObjectStore(database),
    responses: async () => createPostgresResponseStore(database),
    mayHaveResponses: () => true,
    batches: async () => ({ store: createBatchStore(tablesIn(database)), worker }),
    mayHaveBatches: () => true,
    bodies: async () => createBodyStore(tablesIn(database)),
    mayHaveBodies: () => true,
    vectorStores: () => lateVectorStores(tablesIn(database), worker),
    mayHaveVectorStores: () => true,
    sealedTables: async () => tablesIn(database),
    sessions: async () =>
      createSessionStore(tablesIn(database), tablesIn({ rest: database.keys }, { answerMaxMs: sessionAnswerMaxMs })),
    mcpGrants: async () => createMcpGrantStore(tablesIn(database), ledger.aheadMs),
    vectorRegistry: async () => createVectorRegistry(tablesIn(database)),
    ledger: { ...ledger, recover: () => patient(() => ledger.recover()) },
    counters,
    tally,
    hints,
    replies: createPostgresReplyStore(database),
    notices: createNoticeStore(tablesIn(database), ledger.aheadMs),
    alerts: createAlertStore(tablesIn(database), ledger.aheadMs),
    storageSizes: (nowMs) => postgresStorageSizes(database, nowMs),
    pictures: async () => createPictureSizes(tablesIn(database)),
    folderWriters: 'one',
    urls,
    booksId,
    bootId,
    replicas: ledger.replicas,
    troubles: () => ({ ledger: ledger.trouble() ?? lease.trouble(), counters: counters.trouble() }),
    async close() {
      stopRecovering();
      await counters.close();
      await ledger.shutdown();
      await lease.release();
      await database.close();
    },
  };
}

/** Every click in the dashboard waits for its session. */
const sessionAnswerMaxMs = 1_000;

/** Tries a step of a start again while PostgreSQL may only just be coming up, or is slow. */
type Patient = <T>(step: () => Promise<T>) => Promise<T>;

/** A step is begun again until then: a start that comes before its database need not be ordered behind it. */
const waitMaxMs = 60_000;
const retryMs = 1_000;

/** `place`: the database in messages. The first wait of a start is in the log, and on stderr. */
function createPatient(place: string, onTrouble: (message: string) => void): Patient {
  let isAnnounced = false;
  return async (step) => {
    const untilMs = performance.now() + waitMaxMs;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const why = whyWait(error, place);
        if (why === null) throw error;
        if (!mayPass(error) || performance.now() > untilMs) throw new StartRefused(why);
        const message = `${why} Culvert waits for it, at most ${waitMaxMs / 1_000} s.`;
        if (!isAnnounced) toLogAndStderr(onTrouble)(message);
        isAnnounced = true;
        await pause(retryMs);
      }
    }
  };
}

/** Into the log and on stderr, which people at a terminal read. */
function toLogAndStderr(onTrouble: (message: string) => void): (message: string) => void {
  return (message) => {
    onTrouble(message);
    note(message);
  };
}

/** Null: waiting does not help, or it is a defect. */
function whyWait(error: unknown, place: string): string | null {
  if (!(error instanceof FailureError)) return whyUnusable(error, place);
  return error.failure.kind === 'quota-unavailable' ? factsOf(error.failure, 0).message : null;
}
