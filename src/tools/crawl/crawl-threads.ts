import { createTurns } from '../../kernel/sharing/turns.ts';
import { createTimedThreads } from '../../kernel/threads/timed-thread.ts';
import type { CrawlJobName, CrawlWork } from './crawl-worker.ts';

/**
 * Work of crawls that strangers' patterns and files decide the length of, in threads that are killed and begun anew.
 * They go round the tenants that wait; one tenant has one of them at a time.
 */
export type CrawlThreads = ReturnType<typeof createCrawlThreads>;

/** From the moment when a thread begins it. Orders of crawls take some ms. */
const workMaxDefaultMs = 2_000;
/** A busy machine takes a while to start a thread. */
const startMaxMs = 10_000;
const threadsMax = 2;
const heapMaxMb = 128;
/** Each belongs to a page that is being read, or to a call; those are bounded elsewhere, and lower. */
const waitingMax = 4_096;

export function createCrawlThreads({ workMaxMs = workMaxDefaultMs } = {}) {
  const entry = new URL('./crawl-worker.ts', import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: heapMaxMb };
  const options = { workMaxMs, startMaxMs, resourceLimits };
  const threads = createTimedThreads(threadsMax, entry, 'thread of crawls', options);
  const turns = createTurns({ name: 'Patterns and sitemaps of crawls', places: threadsMax, waitingMax });
  return {
    /** Null: it took too long, or more memory than it may. Rejects (503) when too many wait. */
    ask: <Name extends CrawlJobName>(
      tenant: string,
      job: Name,
      input: CrawlWork[Name]['input'],
    ): Promise<CrawlWork[Name]['answer'] | null> =>
      turns.run(tenant, null, () => threads.run<CrawlWork[typeof job]['answer']>({ job, ...input })),
    close: threads.close,
  };
}
