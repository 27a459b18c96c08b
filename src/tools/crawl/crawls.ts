import { newSortedId } from '../../kernel/ids.ts';
import { type JobIntervals, type JobWorker, LeasedJobs } from '../../kernel/leased-jobs.ts';
import type { Post } from '../../kernel/web/post.ts';
import { createHookDelivery } from './crawl-hooks.ts';
import { runCrawl } from './crawl-job.ts';
import { type CrawlOptions, kindOf } from './crawl-options.ts';
import type { CrawlOwner } from './crawl-ports.ts';
import type { CrawlParts } from './crawl-run.ts';
import { keyed } from './crawl-scope.ts';
import type { Crawl, CrawlError, CrawlResult, ListedCrawls, NewCrawl } from './crawl-store.ts';

/** The crawls of all tenants: what may be asked of them, and the work at those that this process has leased. */
export type Crawls = ReturnType<typeof createCrawls>;

export interface CrawlsParts extends Omit<CrawlParts, 'hooked'> {
  worker: JobWorker;
  post: Post;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Running crawls of one tenant. */
export const runningMax = 20;
const storedMax = 500;
/** Running crawls of all tenants: a crawl is held until it ends, and mostly waits for its host. */
const atOnceMax = 5 * runningMax;
const intervals: JobIntervals = { lookMs: 5_000, renewMs: 8_000, sweepMs: 3_600_000 };
/** Bytes of one answer; one page may be longer. */
const resultBytesMax = 8 * 1024 * 1024;
const errorsMax = 10_000;

export function createCrawls(parts: CrawlsParts) {
  const { store, clock, onTrouble } = parts;
  const hooks = createHookDelivery({ store, clock, post: parts.post, onTrouble });
  const hooked = () => void hooks.look();
  const leased = new LeasedJobs<Crawl>({
    ...parts,
    atOnceMax,
    noun: 'crawl',
    work: (crawl, lease, signal, stopping) => runCrawl({ ...parts, hooked, crawl, lease, signal, stopping }),
  });
  let stopped = false;

  async function prune(): Promise<void> {
    try {
      while (!stopped && (await store.prune(clock.wallMs())) > 0) await parts.pause(0, neverAborted);
    } catch (error) {
      onTrouble(`old crawls could not be removed: ${String(error)}`);
    }
  }

  return {
    /** `urls`: where a crawl begins, canonical; all pages of a batch. `full`: the tenant has as many running as it may. */
    async create(owner: CrawlOwner, urls: readonly string[], options: CrawlOptions): Promise<NewCrawl | 'full'> {
      const createdMs = clock.wallMs();
      const kind = kindOf(options);
      const crawl: NewCrawl = { ...owner, id: newSortedId(`${kind}_`, createdMs), url: urls[0]!, options, createdMs };
      const keyOf = (url: string, at: number) => (kind === 'batch' ? `${at} ${url}` : keyed(url).key);
      const seeds = urls.map((url, at) => ({ key: keyOf(url, at), url, depth: 0, shape: null }));
      const made = await store.create(crawl, seeds, { runningMax, storedMax });
      if (made === 'full') return made;
      void leased.look();
      return crawl;
    },
    find: (tenant: string, id: string): Promise<Crawl | null> => store.find(tenant, id),
    list: (tenant: string, listed: ListedCrawls): Promise<readonly Crawl[]> => store.list(tenant, listed),
    async cancel(tenant: string, id: string): Promise<Crawl | null> {
      const atMs = clock.wallMs();
      const end = { status: 'cancelled', error: null, atMs, expiresMs: atMs + parts.retentionMs() } as const;
      const crawl = await store.cancel(tenant, id, end);
      // Another replica notices it at its next page.
      if (crawl?.status === 'cancelled') leased.abort(id);
      return crawl;
    },
    results: (id: string, after: number, limit: number): Promise<readonly CrawlResult[]> =>
      store.results(id, after, limit, resultBytesMax),
    errors: (id: string): Promise<readonly CrawlError[]> => store.errors(id, errorsMax),
    async start(): Promise<void> {
      hooks.start();
      await leased.begin(intervals, prune);
    },
    /** Pages under way are given back unpaid, and other processes may take the crawls. */
    async stop(): Promise<void> {
      stopped = true;
      await leased.stop();
      await hooks.stop();
      await leased.release();
    },
  };
}

const neverAborted = new AbortController().signal;
