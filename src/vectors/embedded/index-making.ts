import type { Clock } from '../../kernel/clock.ts';

/** How long the making of indexes holds the thread at a time. */
const sliceMs = 10;

/** An index that is being made. */
export interface Making {
  /** True: it is done. */
  step(): boolean;
  /** Nobody wants it any more. */
  isOver(): boolean;
  /** Gives back its memory. */
  stop(): void;
}

interface Waiting extends Making {
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
  readonly #running = new Map<string, Promise<void>>();
  #isTurning = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * Resolves when it is done, or given up. Rejects with a step's error. A second request meanwhile does not call
   * `start`.
   */
  run(tenant: string, what: string, start: () => Making): Promise<void> {
    const running = this.#running.get(what);
    if (running !== undefined) return running;
    const made = new Promise<void>((resolve, reject) => {
      const queue = this.#tenants.get(tenant) ?? [];
      queue.push({ ...start(), resolve, reject });
      this.#tenants.set(tenant, queue);
      if (!this.#isTurning) setImmediate(() => this.#turn());
      this.#isTurning = true;
    }).finally(() => this.#running.delete(what));
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
    const endMs = this.#clock.monotonicMs() + sliceMs;
    try {
      do {
        if (making.isOver()) {
          making.stop();
          making.resolve();
          return true;
        }
        if (making.step()) {
          making.resolve();
          return true;
        }
      } while (this.#clock.monotonicMs() < endMs);
      return false;
    } catch (error) {
      making.reject(error);
      return true;
    }
  }
}
