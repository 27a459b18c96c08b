import type { Clock } from './clock.ts';
import { every } from './every.ts';
import { createLeftOut, type LeftOut, Unopenable } from './unopenable.ts';

export interface Lease {
  id: string;
  worker: string;
}

/** This process as its leases name it, and what it knows of others that work at the same jobs. */
export interface JobWorker {
  name: string;
  /** The beginning of all names of workers that may live: every other one is known to be dead. Null: nothing is known. */
  living: string | null;
  /** How far the clock of the store, which other machines share, is before (negative) or after ours. Absent: it is ours. */
  aheadMs?(): number;
  /** Calls `take` with the name of each other worker that is known to have died: those so far, and later ones. */
  onDeath(take: (name: string) => void): void;
}

/** Names a process without a primary, which learns of no deaths. `alone`: no other process may live. */
export function workerApart(name: string, others: 'alone' | 'may-live'): JobWorker {
  return { name, living: others === 'alone' ? name : null, onDeath: () => undefined };
}

/** Thrown by work at a job that waits for something: others have its place for so many ms. */
export class JobRests extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`rests for ${ms} ms`);
    this.ms = ms;
  }
}

/** The part of a store of durable jobs that shares them out: one process at a time works at a job, under a lease. */
export interface JobStore<Job extends { id: string }> {
  /** Jobs that nobody works at, oldest first, leased to `worker` until then. */
  lease(worker: string, nowMs: number, untilMs: number, limit: number): Promise<readonly Job[]>;
  /** False: it has ended, or is another's. */
  renew(lease: Lease, untilMs: number): Promise<boolean>;
  /** Gives up what this worker holds, which has stopped or died, or what all hold whose names begin otherwise: they are dead. */
  release(of: { worker: string } | { allBut: string }): Promise<void>;
}

export interface LeasedJobsParts<Job extends { id: string }> {
  store: JobStore<Job>;
  worker: JobWorker;
  clock: Clock;
  /** Concurrent jobs of this process; others wait for it, or for another replica. */
  atOnceMax: number;
  /** One of them, in messages for the operator: `crawl`. */
  noun: string;
  /**
   * Works at a job until its end, or until `signal` is aborted: it has ended elsewhere, is lost to another process, or
   * we stop, which `stopping` says alone. Rejects when the store fails, or with an Unopenable or a `JobRests`: then the
   * job is taken up again.
   */
  work(job: Job, lease: Lease, signal: AbortSignal, stopping: AbortSignal): Promise<void>;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

export const leaseMs = 30_000;
/** A job whose store failed is left alone for so long. */
const retryMs = 10_000;
/** A job that no secret opens waits for an operator, who may add one. */
const unopenableRetryMs = 60_000;

export interface JobIntervals {
  lookMs: number;
  renewMs: number;
  sweepMs: number;
}

interface Held {
  ending: AbortController;
  /** Monotonic ms at which another may have it. */
  untilMs: number;
  done: Promise<void>;
}

/** The durable jobs that this process has leased, and its work at them. */
export class LeasedJobs<Job extends { id: string }> {
  readonly #parts: LeasedJobsParts<Job>;
  readonly #jobs = new Map<string, Held>();
  readonly #stopping = new AbortController();
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  #soon: NodeJS.Immediate | null = null;
  #inTrouble = false;
  #stops: (() => void)[] = [];
  readonly #unopened: LeftOut;

  constructor(parts: LeasedJobsParts<Job>) {
    this.#parts = parts;
    const lineOf = (jobs: number) => `work at a ${parts.noun} rests, ${jobs} times since the last such line`;
    this.#unopened = createLeftOut(parts.clock, parts.onTrouble, lineOf);
  }

  /**
   * Takes over what dead processes held. Looks for jobs, renews leases and sweeps, now and then until `stop`. Resolves
   * when it has looked for jobs once.
   */
  async begin({ lookMs, renewMs, sweepMs }: JobIntervals, sweep: () => unknown): Promise<void> {
    const { store, worker } = this.#parts;
    if (worker.living !== null) await store.release({ allBut: worker.living });
    worker.onDeath((name) => void this.#inherit(name));
    this.#stops = [
      every(lookMs, () => void this.look()),
      every(renewMs, () => void this.renew()),
      every(sweepMs, sweep),
    ];
    sweep();
    await this.look();
  }

  /**
   * Leases jobs that nobody works at. A look that is already running may not know of one that has just begun: it looks
   * again.
   */
  look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#take()
      .then(() => {
        this.#inTrouble = false;
      })
      .catch((error: unknown) => {
        const { onTrouble, noun } = this.#parts;
        if (!this.#inTrouble) onTrouble(`work at a ${noun} cannot be looked for: ${String(error)}`);
        this.#inTrouble = true;
      })
      .finally(() => {
        this.#looking = null;
        if (this.#lookAgain && !this.#stopping.signal.aborted && !this.#inTrouble && this.hasRoom()) void this.look();
      });
    return this.#looking;
  }

  async renew(): Promise<void> {
    const { store, worker, clock } = this.#parts;
    for (const [id, job] of this.#jobs) {
      const sentMs = clock.monotonicMs();
      try {
        const isOurs = await store.renew({ id, worker: worker.name }, this.#storeMs() + leaseMs);
        if (isOurs) job.untilMs = sentMs + leaseMs;
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
    this.#stopping.abort();
    for (const stop of this.#stops) stop();
    for (const { ending } of this.#jobs.values()) ending.abort();
    await this.#looking;
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
  }

  /** After `stop`: other processes may take them. */
  async release(): Promise<void> {
    const { store, worker } = this.#parts;
    await store.release({ worker: worker.name }).catch(() => undefined);
  }

  /** A release that fails leaves its jobs to the end of their leases. */
  async #inherit(dead: string): Promise<void> {
    await this.#parts.store.release({ worker: dead }).catch(() => undefined);
    void this.look();
  }

  /** In the next turn of the loop: where jobs end at once, one after the other, nobody else would get one. */
  #lookSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = null;
      void this.look();
    });
  }

  /** Machines whose clocks differ would take jobs from each other. */
  #storeMs(): number {
    return this.#parts.clock.wallMs() + (this.#parts.worker.aheadMs?.() ?? 0);
  }

  /** Whether another job has a place here. */
  hasRoom(): boolean {
    return this.#jobs.size < this.#parts.atOnceMax;
  }

  async #take(): Promise<void> {
    const { store, worker, clock, atOnceMax } = this.#parts;
    while (this.#lookAgain && !this.#stopping.signal.aborted && this.hasRoom()) {
      this.#lookAgain = false;
      const nowMs = this.#storeMs();
      // By the monotonic clock, from before the lease was requested.
      const untilMs = clock.monotonicMs() + leaseMs;
      const jobs = await store.lease(worker.name, nowMs, nowMs + leaseMs, atOnceMax - this.#jobs.size);
      // The stop releases jobs that were leased meanwhile.
      if (!this.#stopping.signal.aborted) for (const job of jobs) this.#begin(job, untilMs);
    }
  }

  #begin(job: Job, untilMs: number): void {
    const { store, worker, noun, work, onTrouble } = this.#parts;
    const { id } = job;
    const before = this.#jobs.get(id);
    const ending = new AbortController();
    const lease = { id, worker: worker.name };
    const run = async () => {
      // Ours from before, whose lease ran out under it.
      before?.ending.abort();
      await before?.done;
      await work(job, lease, ending.signal, this.#stopping.signal);
    };
    const held: Held = {
      ending,
      untilMs,
      done: run()
        .catch(async (error: unknown) => {
          const isUnopenable = error instanceof Unopenable;
          const isResting = error instanceof JobRests;
          if (isUnopenable) this.#unopened(1);
          else if (!isResting)
            onTrouble(`${noun} ${id} rests: ${error instanceof Error ? error.message : String(error)}`);
          ending.abort();
          const restMs = isResting ? error.ms : isUnopenable ? unopenableRetryMs : retryMs;
          await store.renew(lease, this.#storeMs() + restMs).catch(() => false);
        })
        .finally(() => {
          if (this.#jobs.get(id) === held) this.#jobs.delete(id);
          this.#lookSoon();
        }),
    };
    this.#jobs.set(id, held);
  }
}
