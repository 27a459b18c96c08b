import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountStore } from '../../src/books/auth/account-store.ts';
import type { McpGrantStore } from '../../src/books/auth/mcp-grant-store.ts';
import type { ProviderObjectStore } from '../../src/books/auth/provider-object-store.ts';
import type { SessionStore } from '../../src/books/auth/session-store.ts';
import type { BatchStore } from '../../src/books/metering/batch-store.ts';
import type { BodyStore } from '../../src/books/metering/body-store.ts';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { Ledger } from '../../src/books/metering/ledger.ts';
import type { AlertStore } from '../../src/books/metering/notices/alert-store.ts';
import type { NoticeStore } from '../../src/books/metering/notices/notice-store.ts';
import type { RecordOrder } from '../../src/books/metering/record-store.ts';
import type { ReplyStore } from '../../src/books/metering/reply-store.ts';
import type { ResponseStore } from '../../src/books/metering/response-store.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import type { VectorStoreRows } from '../../src/books/metering/vector-store-rows.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { FailureError } from '../../src/kernel/failure.ts';
import { createMcpGrantStore } from '../../src/stores/accounts/mcp-grant-store.ts';
import { createSessionStore } from '../../src/stores/accounts/session-store.ts';
import { createAlertStore } from '../../src/stores/answers/alert-store.ts';
import { createBatchStore } from '../../src/stores/answers/batch-store.ts';
import { createBodyStore } from '../../src/stores/answers/body-store.ts';
import { createNoticeStore } from '../../src/stores/answers/notice-store.ts';
import { openPostgresLedger } from '../../src/stores/postgres/ledger.ts';
import { openPostgres } from '../../src/stores/postgres/open.ts';
import { createPostgresPageStore } from '../../src/stores/postgres/page-store.ts';
import {
  createPostgresAccountStore,
  createPostgresCrawlStore,
  createPostgresProviderObjectStore,
  createPostgresReplyStore,
  createPostgresResponseStore,
  tablesIn,
} from '../../src/stores/postgres/stores.ts';
import type { ClosableTables } from '../../src/stores/sql-tables.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';
import { createSqlitePageThread } from '../../src/stores/sqlite/page-thread.ts';
import {
  openCulvertTables,
  openSqliteAccountStore,
  openSqliteBatchStore,
  openSqliteBodyStore,
  openSqliteCrawlStore,
  openSqliteProviderObjectStore,
  openSqliteReplyStore,
  openSqliteResponseStore,
  openVectorStoreTables,
} from '../../src/stores/sqlite/stores.ts';
import { tablesIn as sqliteTablesIn } from '../../src/stores/sqlite/tables.ts';
import { createVectorRegistry } from '../../src/stores/vectors/vector-registry.ts';
import { createVectorStoreRows } from '../../src/stores/vectors/vector-store-rows.ts';
import type { PageBounds } from '../../src/stores/web/page-rows.ts';
import type { CrawlStore } from '../../src/tools/crawl/crawl-store.ts';
import type { PageStore } from '../../src/tools/page-store.ts';
import type { Corpus } from '../../src/tools/search/corpus.ts';
import type { VectorRegistry } from '../../src/vectors/registry.ts';
import { layFreshStorage } from '../fresh-storage.ts';
import { patientPools, postgresMissing, type StartedPostgres, startPostgres } from '../start-postgres.ts';

/**
 * One store as a server sees it. Several may be opened over one: other processes, or the next start. Suites await
 * whatever opens or removes: a driver over a network needs it.
 */
export interface StoreUnderTest {
  /** For child processes: what `driverNamed(name).over(place)` opens again. */
  place: string;
  /** The tables of accounts, or of another file of the data folder, as stores that all databases share get them. */
  tables(file?: 'responses.db' | 'bodies.db'): ClosableTables | Promise<ClosableTables>;
  accounts(): AccountStore | Promise<AccountStore>;
  ledger(bootId: string, clock?: Clock, order?: RecordOrder): Ledger | Promise<Ledger>;
  replies(bootId: string): Closable<ReplyStore> | Promise<Closable<ReplyStore>>;
  notices(): Closable<NoticeStore> | Promise<Closable<NoticeStore>>;
  alerts(): Closable<AlertStore> | Promise<Closable<AlertStore>>;
  providerObjects(): ProviderObjectStore | Promise<ProviderObjectStore>;
  responses(bootId: string): ResponseStore | Promise<ResponseStore>;
  batches(): BatchStore | Promise<BatchStore>;
  bodies(): BodyStore | Promise<BodyStore>;
  vectorStores(): VectorStoreRows | Promise<VectorStoreRows>;
  sessions(): SessionStore | Promise<SessionStore>;
  mcpGrants(): McpGrantStore | Promise<McpGrantStore>;
  vectorRegistry(): Closable<VectorRegistry> | Promise<Closable<VectorRegistry>>;
  crawls(): CrawlStore | Promise<CrawlStore>;
  pages(bounds?: PageBounds): (PageStore & Corpus) | Promise<PageStore & Corpus>;
  /**
   * Dead processes are known to be dead from here on, as they are by themselves after 30 s when several processes share
   * the ledger; nothing to do when another boot is a dead one. Suites call it after a kill and before `recover`.
   */
  letTheDeadBeKnown(): void | Promise<void>;
  remove(): void | Promise<void>;
}

type Closable<Store> = Store & { close(): Promise<void> };

export interface StoreDriver {
  name: string;
  /** Why it cannot be tested on this machine: the title's `skip`. */
  skip: string | false;
  create(): StoreUnderTest | Promise<StoreUnderTest>;
  over(place: string): StoreUnderTest;
}

const sqlite: StoreDriver = {
  name: 'sqlite',
  skip: false,
  create() {
    const place = mkdtempSync(join(tmpdir(), 'culvert-stores-'));
    layFreshStorage(place);
    return sqlite.over(place);
  },
  over: (place) => ({
    place,
    tables(file) {
      if (file === undefined) return openCulvertTables(join(place, 'culvert.db'));
      const database = openDatabase(join(place, file), 'checkpoint', 0);
      return { ...sqliteTablesIn(database), close: async () => database.close() };
    },
    accounts: () => openSqliteAccountStore(join(place, 'culvert.db')),
    ledger: (bootId, clock = systemClock, order) =>
      openSqliteLedger({
        file: join(place, 'ledger.db'),
        bootId,
        clock,
        chargeCrashed: crashedEvent,
        bucketsOf,
        ...(order !== undefined && { order }),
        onTrouble: () => {},
      }),
    replies: (bootId) => openSqliteReplyStore({ file: join(place, 'culvert.db'), bootId, onTrouble: () => {} }),
    notices: () => createNoticeStore(openCulvertTables(join(place, 'culvert.db'))),
    alerts: () => createAlertStore(openCulvertTables(join(place, 'culvert.db'))),
    providerObjects: () => openSqliteProviderObjectStore({ file: join(place, 'culvert.db'), onTrouble: () => {} }),
    responses: (bootId) => openSqliteResponseStore({ file: join(place, 'responses.db'), bootId, onTrouble: () => {} }),
    batches: () => openSqliteBatchStore({ file: join(place, 'batches.db'), onTrouble: () => {} }),
    bodies: () => openSqliteBodyStore({ file: join(place, 'bodies.db'), onTrouble: () => {} }),
    vectorStores: () =>
      createVectorStoreRows(openVectorStoreTables({ file: join(place, 'vector-stores.db'), onTrouble: () => {} })),
    sessions: () => createSessionStore(openCulvertTables(join(place, 'culvert.db'))),
    mcpGrants: () => createMcpGrantStore(openCulvertTables(join(place, 'culvert.db'))),
    vectorRegistry: () => createVectorRegistry(openCulvertTables(join(place, 'culvert.db'))),
    crawls: () => openSqliteCrawlStore({ file: join(place, 'crawl.db'), onTrouble: () => {} }),
    pages: (bounds) => createSqlitePageThread(join(place, 'pages.db'), bounds),
    letTheDeadBeKnown: () => {},
    remove: () => rmSync(place, { recursive: true, force: true }),
  }),
};

let server: Promise<StartedPostgres> | null = null;

const postgres: StoreDriver = {
  name: 'postgres',
  skip: postgresMissing,
  async create() {
    // One server a test file, one database a test.
    server ??= startPostgres(null);
    return postgres.over((await server).newDatabase());
  },
  over(place) {
    /** Resources that a failing test leaves open would keep its process, and with it the whole run, for ever. */
    const open = new Set<() => Promise<void>>();
    function untilRemoved<Store extends object>(store: Store, end: () => Promise<void>): Store & Closable<object> {
      async function close(): Promise<void> {
        if (open.delete(close)) await end();
      }
      open.add(close);
      return { ...store, close };
    }
    return {
      place,
      async tables() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(tablesIn(database), database.close);
      },
      async accounts() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresAccountStore(database), database.close);
      },
      async ledger(bootId, clock = systemClock, order) {
        const database = await openPostgres(place, patientPools);
        const ledger = await openPostgresLedger({
          database,
          bootId,
          clock,
          chargeCrashed: crashedEvent,
          bucketsOf,
          ...(order !== undefined && { order }),
          onTrouble: () => {},
        });
        const { close } = untilRemoved({}, () => ledger.shutdown().then(database.close));
        return { ...ledger, open: patiently(ledger.open), shutdown: close };
      },
      async replies() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresReplyStore(database, patientMs), database.close);
      },
      async notices() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createNoticeStore(tablesIn(database)), database.close);
      },
      async alerts() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createAlertStore(tablesIn(database)), database.close);
      },
      async providerObjects() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresProviderObjectStore(database, patientMs), database.close);
      },
      async responses() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresResponseStore(database), database.close);
      },
      async batches() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createBatchStore(tablesIn(database)), database.close);
      },
      async bodies() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createBodyStore(tablesIn(database)), database.close);
      },
      async vectorStores() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createVectorStoreRows(tablesIn(database)), database.close);
      },
      async sessions() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createSessionStore(tablesIn(database)), database.close);
      },
      async mcpGrants() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createMcpGrantStore(tablesIn(database)), database.close);
      },
      async vectorRegistry() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createVectorRegistry(tablesIn(database)), database.close);
      },
      async crawls() {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresCrawlStore(database), database.close);
      },
      async pages(bounds) {
        const database = await openPostgres(place, patientPools);
        return untilRemoved(createPostgresPageStore(database, bounds), database.close);
      },
      async letTheDeadBeKnown() {
        const database = await openPostgres(place, patientPools);
        await database.rest.run('UPDATE culvert.boot SET seen_ms = 0');
        await database.close();
      },
      async remove() {
        await Promise.all([...open].map((close) => close()));
      },
    };
  },
};

/** Callers give up after a quarter of a second, which a busy machine may take to connect. */
const patientMs = 30_000;

/**
 * On a machine that is busy with other things a commit may take longer than the 250 ms for callers: it is asked again,
 * as callers would. The wait itself has tests of its own (test/faults/postgres).
 */
function patiently(open: Ledger['open']): Ledger['open'] {
  return async (row) => {
    for (let tries = 1; ; tries++) {
      try {
        return await open(row);
      } catch (error) {
        if (tries === 20 || !(error instanceof FailureError)) throw error;
      }
    }
  };
}

/** Every suite of this folder runs over each of these. */
export const drivers: readonly StoreDriver[] = [sqlite, postgres];

export function driverNamed(name: string): StoreDriver {
  const driver = drivers.find((candidate) => candidate.name === name);
  if (driver === undefined) throw new Error(`no store driver ${name}`);
  return driver;
}
