import type { Clock } from '../../kernel/clock.ts';

/** How long the making of indexes holds the thread at a time, and of one that is searched meanwhile. */
const sliceMs = 10;
const usableSliceMs = 2;

/** An index that is being made. */
export interface Making {
  /** 'usable', once: a part of it serves from now on. */
  step(): 'more' | 'usable' | 'done';
  /** Nobody wants it any more. */
  isOver(): boolean;
  /** Gives back its memory. */
  stop(): void;
}

/** Both reject with a step's error, and resolve when it is given up. */
export interface Made {
  /** A part of it serves, or all. */
  usable: Promise<void>;
  done: Promise<void>;
}

interface Waiting extends Making {
  sliceMs: number;
  usable(): void;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Makes the indexes of large collections in slices, one in each turn of the loop: calls of others come in between. Tenants
 * take turns; of one tenant one is made after the other.
 */
export class IndexMaking {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By tenant, whose turn it is first. */
  readonly #tenants = new Map<string, Waiting[]>();
  /** By subject. */
  readonly #running = new Map<string, Made>();
  #isTurning = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A second request meanwhile does not call `start`. */
  run(tenant: string, what: string, start: () => Making): Made {
    const running = this.#running.get(what);
    if (running !== undefined) return running;
    const usable = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const made: Made = { usable: usable.promise, done: done.promise.finally(() => this.#running.delete(what)) };
    made.done.then(usable.resolve, usable.reject);
    // Its caller waits for one of them.
    usable.promise.catch(() => {});
    const queue = this.#tenants.get(tenant) ?? [];
    queue.push({ ...start(), sliceMs, usable: usable.resolve, resolve: done.resolve, reject: done.reject });
    this.#tenants.set(tenant, queue);
    if (!this.#isTurning) setImmediate(() => this.#turn());
    this.#isTurning = true;
    this.#running.set(what, made);
    return made;
  }

  #turn(): void {
    const [tenant, queue] = this.#tenants.entries().next().value!;
    this.#tenants.delete(tenant);
    if (this.#isDone(queue[0]!)) queue.shift();
    if (queue.length > 0) this.#tenants.set(tenant, queue);
    this.#isTurning = this.#tenants.size > 0;
    if (this.#isTurning) setImmediate(() => this.#turn());
  }

  #isDone(making: Waiting): boolean {
    const endMs = this.#clock.monotonicMs() + making.sliceMs;
    try {
      do {
        if (making.isOver()) {
          making.stop();
          making.resolve();
          return true;
        }
        switch (making.step()) {
          case 'done':
            making.resolve();
            return true;
          case 'usable':
            making.usable();
            making.sliceMs = usableSliceMs;
            // Those who wait for that come first.
            return false;
        }
      } while (this.#clock.monotonicMs() < endMs);
      return false;
    } catch (error) {
      making.reject(error);
      return true;
    }
  }
}
