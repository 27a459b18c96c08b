import type { Clock } from '../clock.ts';

/** Calls by name, as another process of this server asks for them. */
export interface NamedCalls {
  /** How many calls of this name run here, or have ended lately. */
  count(name: string): number;
  /** Cancels those that run here. */
  end(name: string): void;
}

/** Offers the calls of this process to the others. The returned function cancels a call, in whichever it runs. */
export type ShareCalls = (calls: NamedCalls) => (name: string) => void;

/** A cancellation may cross its call's answer on the way. */
const lateMaxMs = 1_000;

/**
 * Running calls by their sender and the id that it gave them, for messages that cancel one. Ids are each client's
 * matter, and clients of one key may choose the same one: then nobody knows which call is meant, and none is cancelled.
 * A call that ended within the last second without a cancellation may be meant, too.
 */
export class RunningCalls {
  readonly #calls = new Map<string, Set<() => void>>();
  /** When calls ended, the first one first. */
  readonly #endedMs = new Map<string, number>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Cancels the call of this name, if exactly one runs in all processes of this server. */
  readonly cancel: (name: string) => void;

  /** `share` is null where this is the only process. */
  constructor(share: ShareCalls | null, clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    const here: NamedCalls = {
      count: (name) => {
        this.#forgetEnded();
        return (this.#calls.get(name)?.size ?? 0) + (this.#endedMs.has(name) ? 1 : 0);
      },
      end: (name) => {
        const there = this.#calls.get(name) ?? [];
        this.#calls.delete(name);
        for (const cancel of there) cancel();
      },
    };
    const alone = (name: string) => {
      if (here.count(name) === 1) here.end(name);
    };
    this.cancel = share === null ? alone : share(here);
  }

  /** Adds a call with the function that cancels it. The returned function takes it out. */
  add(name: string, cancel: () => void): () => void {
    const there = this.#calls.get(name) ?? new Set();
    this.#calls.set(name, there.add(cancel));
    return () => {
      // One that was cancelled is not there any more.
      if (this.#calls.get(name) !== there || !there.delete(cancel)) return;
      if (there.size === 0) this.#calls.delete(name);
      this.#forgetEnded();
      this.#endedMs.delete(name);
      this.#endedMs.set(name, this.#clock.monotonicMs());
    };
  }

  #forgetEnded(): void {
    const sinceMs = this.#clock.monotonicMs() - lateMaxMs;
    for (const [name, atMs] of this.#endedMs) {
      if (atMs > sinceMs) return;
      this.#endedMs.delete(name);
    }
  }
}
