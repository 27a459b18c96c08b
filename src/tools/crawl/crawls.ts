import { randomBase62 } from '../../kernel/ids.ts';
import { createHookDelivery, type PostHook } from './crawl-hooks.ts';
import { type CrawlParts, runCrawl } from './crawl-job.ts';
import type { CrawlOptions } from './crawl-options.ts';
import type { CrawlOwner } from './crawl-ports.ts';
import { keyed } from './crawl-scope.ts';
import type { Crawl, CrawlError, CrawlResult, NewCrawl } from './crawl-store.ts';

/** The crawls of all tenants: what may be asked of them, and the work at those that this process has leased. */
export interface Crawls {
  /** `url`: canonical. `full`: the tenant has as many running as it may. */
  create(owner: CrawlOwner, url: string, options: CrawlOptions): Promise<NewCrawl | 'full'>;
  find(tenant: string, id: string): Promise<Crawl | null>;
  list(tenant: string, which: 'all' | 'running', before: string | null, limit: number): Promise<readonly Crawl[]>;
  cancel(tenant: string, id: string): Promise<Crawl | null>;
  results(id: string, after: number, limit: number): Promise<readonly CrawlResult[]>;
  errors(id: string): Promise<readonly CrawlError[]>;
  /** `alone`: every other process that worked at these crawls is known to be dead. */
  start(others: 'alone' | 'may-live'): Promise<void>;
  /** Pages under way are given back unpaid, crawls to whoever comes next. */
  stop(): Promise<void>;
}

export interface CrawlsParts extends Omit<CrawlParts, 'hooked'> {
  post: PostHook;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Of one tenant. */
export const runningMax = 20;
const keptMax = 500;
/**
 * Worked at by this process at one time; others wait for it, or for another replica. Of several tenants' as many: a
 * crawl is held until it ends, and mostly waits for its host.
 */
const jobsMax = 5 * runningMax;
const leaseMs = 30_000;
const renewIntervalMs = 8_000;
const lookIntervalMs = 5_000;
const pruneIntervalMs = 3_600_000;
/** A crawl whose store failed is left alone for so long. */
const retryMs = 10_000;
/** Of one answer; one page may be longer. */
const resultCharsMax = 8 * 1024 * 1024;
const errorsMax = 10_000;

interface Job {
  ending: AbortController;
  /** Monotonic ms at which another may have it. */
  untilMs: number;
  done: Promise<void>;
}

export function createCrawls(parts: CrawlsParts): Crawls {
  const { store, clock, onTrouble } = parts;
  const worker = randomBase62(16);
  const jobs = new Map<string, Job>();
  const timers: NodeJS.Timeout[] = [];
  const hooks = createHookDelivery({ store, clock, post: parts.post, onTrouble });
  let stopped = false;
  let looking: Promise<void> | null = null;
  let lookAgain = false;
  let inTrouble = false;

  async function take(): Promise<void> {
    while (lookAgain && !stopped && jobs.size < jobsMax) {
      lookAgain = false;
      const nowMs = clock.wallMs();
      // By the clock that nobody sets, from before it was asked for.
      const untilMs = clock.monotonicMs() + leaseMs;
      const crawls = await store.lease(worker, nowMs, nowMs + leaseMs, jobsMax - jobs.size);
      // What was leased meanwhile is released by the stop.
      if (!stopped) for (const crawl of crawls) begin(crawl, untilMs);
    }
  }

  /** Of one that is begun while another looks, the other may know nothing: it looks again. */
  function look(): Promise<void> {
    lookAgain = true;
    looking ??= take()
      .then(() => {
        inTrouble = false;
      })
      .catch((error: unknown) => {
        if (!inTrouble) onTrouble(`crawls cannot be looked for: ${String(error)}`);
        inTrouble = true;
      })
      .finally(() => {
        looking = null;
        if (lookAgain && !stopped && !inTrouble && jobs.size < jobsMax) void look();
      });
    return looking;
  }

  function begin(crawl: Crawl, untilMs: number): void {
    const before = jobs.get(crawl.id);
    const ending = new AbortController();
    const lease = { id: crawl.id, worker };
    const run = async () => {
      // Ours from before, whose lease ran out under it.
      before?.ending.abort();
      await before?.done;
      await runCrawl({ ...parts, crawl, lease, signal: ending.signal, hooked: () => void hooks.look() });
    };
    const job: Job = {
      ending,
      untilMs,
      done: run()
        .catch(async (error: unknown) => {
          onTrouble(`crawl ${crawl.id} rests: ${error instanceof Error ? error.message : String(error)}`);
          ending.abort();
          await store.renew(lease, clock.wallMs() + retryMs).catch(() => false);
        })
        .finally(() => {
          if (jobs.get(crawl.id) === job) jobs.delete(crawl.id);
          void look();
        }),
    };
    jobs.set(crawl.id, job);
  }

  async function renew(): Promise<void> {
    for (const [id, job] of jobs) {
      const askedMs = clock.monotonicMs();
      try {
        if (await store.renew({ id, worker }, clock.wallMs() + leaseMs)) job.untilMs = askedMs + leaseMs;
        else job.ending.abort();
      } catch {
        if (clock.monotonicMs() >= job.untilMs) job.ending.abort();
      }
    }
  }

  async function prune(): Promise<void> {
    try {
      while (!stopped && (await store.prune(clock.wallMs())) > 0) await parts.pause(0, neverAborted);
    } catch (error) {
      onTrouble(`old crawls could not be removed: ${String(error)}`);
    }
  }

  function every(ms: number, work: () => unknown): void {
    const timer = setInterval(work, ms);
    timer.unref();
    timers.push(timer);
  }

  return {
    async create(owner, url, options) {
      const createdMs = clock.wallMs();
      const crawl: NewCrawl = { ...owner, id: newCrawlId(createdMs), url, options, createdMs };
      const { key } = keyed(url);
      const made = await store.create(crawl, { key, url, depth: 0, shape: null }, { runningMax, keptMax });
      if (made === 'full') return made;
      void look();
      return crawl;
    },
    find: (tenant, id) => store.find(tenant, id),
    list: (tenant, which, before, limit) => store.list(tenant, which, before, limit),
    async cancel(tenant, id) {
      const atMs = clock.wallMs();
      const end = { status: 'cancelled', error: null, atMs, expiresMs: atMs + parts.retentionMs() } as const;
      const crawl = await store.cancel(tenant, id, end);
      // Another replica's notices at its next page.
      if (crawl?.status === 'cancelled') jobs.get(id)?.ending.abort();
      return crawl;
    },
    results: (id, after, limit) => store.results(id, after, limit, resultCharsMax),
    errors: (id) => store.errors(id, errorsMax),
    async start(others) {
      if (others === 'alone') await store.release(null);
      every(lookIntervalMs, () => void look());
      every(renewIntervalMs, () => void renew());
      every(pruneIntervalMs, () => void prune());
      hooks.start();
      void prune();
      await look();
    },
    async stop() {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
      for (const { ending } of jobs.values()) ending.abort();
      await looking;
      await Promise.all([...jobs.values()].map(({ done }) => done));
      await hooks.stop();
      await store.release(worker).catch(() => undefined);
    },
  };
}

const neverAborted = new AbortController().signal;

/** Sorts by time. */
function newCrawlId(nowMs: number): string {
  return `crawl_${Math.floor(nowMs).toString(36).padStart(9, '0')}${randomBase62(16)}`;
}
