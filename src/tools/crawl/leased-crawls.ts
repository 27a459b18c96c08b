import { randomBase62 } from '../../kernel/ids.ts';
import { type CrawlParts, runCrawl } from './crawl-job.ts';
import type { Crawl } from './crawl-store.ts';

export interface LeasedCrawlsParts extends CrawlParts {
  /** Worked at by this process at one time; others wait for it, or for another replica. */
  atOnceMax: number;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

const leaseMs = 30_000;
/** A crawl whose store failed is left alone for so long. */
const retryMs = 10_000;

interface Job {
  ending: AbortController;
  /** Monotonic ms at which another may have it. */
  untilMs: number;
  done: Promise<void>;
}

/** The crawls that this process has leased, and its work at them. */
export class LeasedCrawls {
  readonly #parts: LeasedCrawlsParts;
  readonly #worker = randomBase62(16);
  readonly #jobs = new Map<string, Job>();
  #stopped = false;
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #inTrouble = false;

  constructor(parts: LeasedCrawlsParts) {
    this.#parts = parts;
  }

  /**
   * Leases crawls that nobody works at. A look that is already running may not know of one that has just begun: it
   * looks again.
   */
  look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#take()
      .then(() => {
        this.#inTrouble = false;
      })
      .catch((error: unknown) => {
        if (!this.#inTrouble) this.#parts.onTrouble(`crawls cannot be looked up: ${String(error)}`);
        this.#inTrouble = true;
      })
      .finally(() => {
        this.#looking = null;
        if (this.#lookAgain && !this.#stopped && !this.#inTrouble && this.#hasRoom()) void this.look();
      });
    return this.#looking;
  }

  async renew(): Promise<void> {
    const { store, clock } = this.#parts;
    for (const [id, job] of this.#jobs) {
      const askedMs = clock.monotonicMs();
      try {
        const isOurs = await store.renew({ id, worker: this.#worker }, clock.wallMs() + leaseMs);
        if (isOurs) job.untilMs = askedMs + leaseMs;
        else job.ending.abort();
      } catch {
        if (clock.monotonicMs() >= job.untilMs) job.ending.abort();
      }
    }
  }

  /** Ends the work at one that has ended, if it is ours. */
  abort(id: string): void {
    this.#jobs.get(id)?.ending.abort();
  }

  /** Begins no more. Resolves when everything under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { ending } of this.#jobs.values()) ending.abort();
    await this.#looking;
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  /** After `stop`: whoever comes next may have them. */
  async release(): Promise<void> {
    await this.#parts.store.release(this.#worker).catch(() => undefined);
  }

  #hasRoom(): boolean {
    return this.#jobs.size < this.#parts.atOnceMax;
  }

  async #take(): Promise<void> {
    const { store, clock, atOnceMax } = this.#parts;
    while (this.#lookAgain && !this.#stopped && this.#hasRoom()) {
      this.#lookAgain = false;
      const nowMs = clock.wallMs();
      // By the monotonic clock, from before the lease was requested.
      const untilMs = clock.monotonicMs() + leaseMs;
      const crawls = await store.lease(this.#worker, nowMs, nowMs + leaseMs, atOnceMax - this.#jobs.size);
      // The stop releases crawls that were leased meanwhile.
      if (!this.#stopped) for (const crawl of crawls) this.#begin(crawl, untilMs);
    }
  }

  #begin(crawl: Crawl, untilMs: number): void {
    const { store, clock, onTrouble } = this.#parts;
    const before = this.#jobs.get(crawl.id);
    const ending = new AbortController();
    const lease = { id: crawl.id, worker: this.#worker };
    const run = async () => {
      // Ours from before, whose lease ran out under it.
      before?.ending.abort();
      await before?.done;
      await runCrawl({ ...this.#parts, crawl, lease, signal: ending.signal });
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
          if (this.#jobs.get(crawl.id) === job) this.#jobs.delete(crawl.id);
          void this.look();
        }),
    };
    this.#jobs.set(crawl.id, job);
  }
}
