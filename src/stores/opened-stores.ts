import type { AccountStore } from '../books/auth/account-store.ts';
import type { McpGrantStore } from '../books/auth/mcp-grant-store.ts';
import type { ProviderObjectStore } from '../books/auth/provider-object-store.ts';
import type { SessionStore } from '../books/auth/session-store.ts';
import type { BatchStore } from '../books/metering/batch-store.ts';
import type { BodyStore } from '../books/metering/body-store.ts';
import type { Counters } from '../books/metering/counters.ts';
import type { HintChannel } from '../books/metering/hint-channel.ts';
import type { Ledger } from '../books/metering/ledger.ts';
import type { AlertStore } from '../books/metering/notices/alert-store.ts';
import type { NoticeStore } from '../books/metering/notices/notice-store.ts';
import type { Replicas } from '../books/metering/replicas.ts';
import type { ReplyStore } from '../books/metering/reply-store.ts';
import type { ResponseStore } from '../books/metering/response-store.ts';
import type { PictureSizes } from '../books/metering/storage/picture-sizes.ts';
import type { StoredBytes } from '../books/metering/storage/storage-counts.ts';
import type { SharedTally } from '../books/metering/tally.ts';
import type { VectorStoreRows } from '../books/metering/vector-store-rows.ts';
import type { JobWorker } from '../kernel/leased-jobs.ts';
import { OpenedOnce } from '../kernel/opened-once.ts';
import type { CrawlStore } from '../tools/crawl/crawl-store.ts';
import type { SharedPace } from '../tools/crawl/shared-pace.ts';
import type { PageStore } from '../tools/page-store.ts';
import type { Corpus } from '../tools/search/corpus.ts';
import type { VectorRegistry } from '../vectors/registry.ts';
import type { ClosableTables } from './sql-tables.ts';

/** Values of `storage`. */
export interface StoreUrls {
  database: string;
  state: string;
}

/** Everything that is kept, behind its ports, whichever drivers the configuration names. */
export interface Stores {
  accounts: AccountStore;
  ledger: Ledger;
  counters: Counters;
  /** Counts that replicas share apart from limits; null: there is one process. */
  tally: SharedTally | null;
  /** To other replicas; null: there are none. */
  hints: HintChannel | null;
  replies: ReplyStore;
  notices: NoticeStore;
  alerts: AlertStore;
  /** Ownership of objects at providers; opened when the first one is given or named. */
  providerObjects(): Promise<ProviderObjectStore>;
  /** Kept responses and conversations; opened when the first is kept or asked for. */
  responses(): Promise<ResponseStore>;
  /** Whether there may be some already. */
  mayHaveResponses(): boolean;
  /** Bodies that operators want kept; opened when the first is kept or asked for, unless there are some. */
  bodies(): Promise<BodyStore>;
  mayHaveBodies(): boolean;
  /** Logins to the dashboard; opened at the first. */
  sessions(): Promise<SessionStore>;
  /** Logins at MCP servers; opened when one of these is first asked. */
  mcpGrants(): Promise<McpGrantStore>;
  /** Registry of vector collections, for engines that keep them elsewhere; opened on demand. */
  vectorRegistry(): Promise<VectorRegistry>;
  /** Pages that the web tools have read; opened when the first is kept or asked for. */
  pages: PageStore & Corpus;
  /** Crawls, and this process as a worker at them; opened when they are first asked for. */
  crawls(): Promise<{ store: CrawlStore; worker: JobWorker; pace: SharedPace | null }>;
  /** Whether there may be crawls already: then a start continues them. */
  mayHaveCrawls(): boolean;
  /** Bytes that accounts keep in them, by kind. */
  storageSizes(nowMs: number): Promise<readonly StoredBytes[]>;
  /** Sizes of pictures behind links; opened when the first is kept. */
  pictures(): Promise<PictureSizes>;
  /** Files and batches, and this process as a worker at them; opened when they are first asked for. */
  batches(): Promise<{ store: BatchStore; worker: JobWorker }>;
  /** Whether there may be batches already: then a start continues them. */
  mayHaveBatches(): boolean;
  /** Vector stores of OpenAI's API, likewise. */
  vectorStores(): Promise<{ rows: VectorStoreRows; worker: JobWorker }>;
  mayHaveVectorStores(): boolean;
  /** Tables of an embedded database by the name of its file, or all; null: there are none. Who asks closes them. */
  sealedTables(file: string): Promise<ClosableTables | null>;
  /** Processes of this server that write the data folder. */
  folderWriters: 'one' | 'several';
  /** With the logins that were read last: each new connection reads them. */
  urls: StoreUrls;
  /** Names what is recorded in the database, for ever. */
  booksId(): Promise<string>;
  /** Names this process in reservations and replies. */
  bootId: string;
  /** Other processes over these stores; null: there are none. */
  replicas: Replicas | null;
  /** Why nothing can be admitted right now, by its cause. */
  troubles(): Readonly<Record<string, string | null>>;
  /** Called after the last request. */
  close(): Promise<void>;
}

/** A store that is opened at its first use. */
export function later<Store extends { close(): Promise<void> }>(open: () => Store | Promise<Store>) {
  const store = new OpenedOnce(async () => open());
  return { open: store.open, close: async () => (await store.close())?.close() };
}
