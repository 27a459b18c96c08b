import { setTimeout as pause } from 'node:timers/promises';
import type { CallerNote, LastingCallers } from '../../../books/auth/caller-note.ts';
import type { Principal } from '../../../books/auth/principal.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import type { StorageBook } from '../../../books/metering/storage/storage-book.ts';
import type { Config } from '../../../config/schema.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { JobWorker } from '../../../kernel/leased-jobs.ts';
import { OpenedOnce } from '../../../kernel/opened-once.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { createFetchGuard, type ResolveAddresses } from '../../../net/fetch-guard.ts';
import { guardedPost } from '../../../net/guarded-post.ts';
import { createHostTurns } from '../../../net/host-turns.ts';
import type { PageFetcher } from '../../../net/page-fetch.ts';
import type { CrawlOptions } from '../../../tools/crawl/crawl-options.ts';
import type { CrawlMeter, CrawlOwner, CrawlSink, PageEnd } from '../../../tools/crawl/crawl-ports.ts';
import type { Crawl, CrawlStore } from '../../../tools/crawl/crawl-store.ts';
import type { CrawlThreads } from '../../../tools/crawl/crawl-threads.ts';
import { type Crawls, type CrawlsParts, createCrawls, runningMax } from '../../../tools/crawl/crawls.ts';
import { refusalOfPatterns } from '../../../tools/crawl/read-crawl-options.ts';
import { sealedCrawlStore } from '../../../tools/crawl/sealed-crawl-store.ts';
import { type SharedPace, turnsOverReplicas } from '../../../tools/crawl/shared-pace.ts';
import type { PageModel } from '../../../tools/page-model.ts';
import type { PageReader } from '../../../tools/page-reader.ts';
import { isWritten } from '../../../tools/scrape/scraped-page.ts';
import { noModel } from '../../../tools/scrape/write-of-page.ts';
import { createSiteFiles } from '../../../tools/site-files.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import { forUser } from '../../spine/end-user.ts';
import type { ReadRequest, WorkEndpoint } from '../../spine/work.ts';

export interface CrawlsOptions {
  services: CrawlServices;
  config(): Config;
  stores: StoredCrawls;
  /** Seals the callers' secrets in crawls. */
  sealer: Sealer;
  ring: LastingCallers;
  reader: PageReader;
  fetcher: PageFetcher;
  threads: CrawlThreads;
  /** Whether a model can write about pages. */
  model: Pick<PageModel, 'modelFor'>;
  resolve: ResolveAddresses;
  sink: CrawlSink | null;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Crawls that outlive processes; opened when they are first asked for. */
export interface StoredCrawls {
  crawls(): Promise<{ store: CrawlStore; worker: JobWorker; pace: SharedPace | null }>;
  /** Whether there may be some already: then a start continues them. */
  mayHaveCrawls(): boolean;
}

export interface OpenedCrawls {
  crawls: Omit<Crawls, 'start' | 'stop'>;
  meter: CrawlMeter;
  /** Null: there is no vector store to write to. */
  sink: CrawlSink | null;
  /** Why an address may not be fetched (400 `url_blocked`); null when it may. */
  guard(url: string, param: string): Promise<Failure | null>;
  /** Why patterns of these options are not taken; null when all are. */
  patterns(tenant: string, options: CrawlOptions): Promise<Failure | null>;
  /** Why a model cannot write about pages, if that is wanted; null when it can. */
  writer(owner: CrawlOwner, options: CrawlOptions): Failure | null;
  /** Crawls and batches of a tenant that run. */
  running(tenant: string): Promise<readonly Crawl[]>;
  close(): Promise<void>;
}

/** Pages of one host that all crawls of this process read at once. */
const atOnceMax = 16;

/** Crawls: taken up at the start where there are any, otherwise from the first on. */
export function openCrawls(options: CrawlsOptions): OpenedCrawls {
  const { services, config, stores, reader, fetcher, threads, resolve, sink, onTrouble } = options;
  const { clock } = services;
  const meter = createCrawlMeter(services, options.ring.principalOf);
  const guard = () => createFetchGuard(config().fetch, resolve);

  async function begin(): Promise<Crawls> {
    const { store: crawlStore, worker, pace } = await stores.crawls();
    const store = notedCrawlStore(sealedCrawlStore(crawlStore, options.sealer), options.ring);
    const wait: CrawlsParts['pause'] = (ms, signal) =>
      pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
    const turns = createHostTurns({ atOnceMax, waitingMax: 512, hostsMax: 10_000, nowMs: clock.monotonicMs });
    const crawls = createCrawls({
      store,
      worker,
      reader,
      files: createSiteFiles(fetcher),
      turns: pace === null ? turns : turnsOverReplicas(turns, { pace, clock, pause: wait }),
      threads,
      meter,
      sink,
      clock,
      pause: wait,
      retentionMs: () => config().tools.crawl.retention,
      post: (url, headers, body, timeoutMs) => guardedPost(url, headers, body, { guard: guard(), timeoutMs }),
      onTrouble,
    });
    await crawls.start();
    return crawls;
  }

  const once = new OpenedOnce(begin);
  const { open } = once;
  if (stores.mayHaveCrawls()) once.continue('crawls', onTrouble);

  return {
    // Opened at the first call.
    crawls: {
      create: async (...args) => (await open()).create(...args),
      find: async (...args) => (await open()).find(...args),
      list: async (...args) => (await open()).list(...args),
      cancel: async (...args) => (await open()).cancel(...args),
      results: async (...args) => (await open()).results(...args),
      errors: async (...args) => (await open()).errors(...args),
    },
    meter,
    sink,
    patterns: (tenant, patterns) => refusalOfPatterns(threads, tenant, patterns),
    writer: ({ keyId }, { scrape }) => (isWritten(scrape) && options.model.modelFor(keyId) === null ? noModel : null),
    async guard(url, param): Promise<Failure | null> {
      const verdict = await guard().check(new URL(url));
      if (verdict.ok || verdict.reason === 'unresolved') return null;
      const message = `'${param}' cannot be used (url_blocked): ${verdict.message}.`;
      return { kind: 'page-refused', code: 'url_blocked', message, param };
    },
    async running(tenant) {
      const crawls = await once.opened();
      if (crawls === null) return [];
      const kinds = ['crawl', 'batch'] as const;
      const listed = { which: 'running', before: null, limit: runningMax } as const;
      return (await Promise.all(kinds.map((kind) => crawls.list(tenant, { ...listed, kind })))).flat();
    },
    async close() {
      await (await once.close())?.stop();
    },
  };
}

/** The same store, whose rows say who began a crawl where no other store has the caller, and for which end user. */
function notedCrawlStore(store: CrawlStore, callers: LastingCallers): CrawlStore {
  return {
    ...store,
    create(crawl, seeds, bounds) {
      const caller = callers.noteOf(crawl.keyId);
      const { user = null } = crawl;
      const noted = { ...crawl.options, ...(caller !== null && { caller }), ...(user !== null && { user }) };
      return store.create({ ...crawl, options: noted }, seeds, bounds);
    },
    async lease(...args) {
      const crawls = await store.lease(...args);
      return crawls.map((crawl) => {
        const { caller, user } = crawl.options as { caller?: CallerNote; user?: string };
        if (caller !== undefined) callers.recall(caller);
        return user === undefined ? crawl : { ...crawl, user };
      });
    },
  };
}

type CrawlServices = ServeServices & { storage: StorageBook };

interface CrawledPage extends ReadRequest {
  work(): Promise<PageEnd>;
}

/** Pages of crawls, each a call of the key that began the crawl. `principalOf`: as things are now, or why it may not go on. */
function createCrawlMeter(services: CrawlServices, principalOf: (keyId: string) => Principal | Failure): CrawlMeter {
  const endpoint = crawledPageEndpoint(services.storage);

  return {
    keep: ({ account }, bytes, write) =>
      services.storage.keep(account, 'crawls', bytes, write, (storedBytes) => storedBytes ?? 0),
    async page({ keyId, user }, url, work) {
      const principal = principalOf(keyId);
      if (isFailure(principal)) return principal;
      let began = false;
      const order = {
        work() {
          began = true;
          return work();
        },
      };
      const outcome = await call(services, endpoint, { principal: forUser(principal, user) }, order, {
        traced: tracedAs(url),
      });
      return !began && outcome?.kind === 'refused' ? outcome.failure : null;
    },
    async mayPay({ keyId, user }) {
      const principal = principalOf(keyId);
      if (isFailure(principal)) return principal;
      const order = { work: async () => nothing };
      const outcome = await call(services, endpoint, { principal: forUser(principal, user) }, order, {});
      return outcome?.kind === 'refused' ? outcome.failure : null;
    },
  };
}

const nothing: PageEnd = { end: 'nothing', failure: null };

function crawledPageEndpoint(storage: StorageBook): WorkEndpoint<Pick<CrawledPage, 'work'>, CrawledPage> {
  return {
    id: 'crawl-page',
    read: (_call, { work }) => ({ work, release() {} }),
    async plan({ config }, { principal }) {
      const full = await storage.mayKeep(principal.account);
      if (full !== null) return full;
      const costMilli = costMilliOf(config.costs, 'crawl_page');
      return { charge: { endpoint: 'crawl-page', alias: '', tier: null, costMilli } };
    },
    async work({ request }) {
      const ended = await request.work();
      if (ended === nothing) return { body: null, failure: null, checked: true };
      const { end, failure } = ended;
      if (end === 'got') return { body: '', failure: null };
      return { body: null, failure, status: 502, worked: end === 'worked' };
    },
  };
}

function tracedAs(url: string) {
  // The query after the path may hold a secret.
  const { origin, pathname } = new URL(url);
  return { route: 'crawl page', about: origin + pathname };
}
