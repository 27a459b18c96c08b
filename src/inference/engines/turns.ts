import { engineBusy } from './engine-error.ts';

/** How many do a thing at one time, and how many wait for it; the next is refused at once. */
export interface Turns {
  /** Runs `work` when its turn comes; rejects with the signal's reason when it is aborted before. */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createTurns(name: string, { atOnce, waitingMax }: { atOnce: number; waitingMax: number }): Turns {
  const waiting: (() => void)[] = [];
  let busy = 0;

  function turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (busy < atOnce) {
      busy += 1;
      return Promise.resolve();
    }
    if (waiting.length >= waitingMax) throw engineBusy(`${name} has too much to do`, 1_000);
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(mine), 1);
        reject(signal.reason);
      };
      const mine = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      waiting.push(mine);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async take(signal, work) {
      await turn(signal);
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        // The place goes over without being free in between.
        if (next === undefined) busy -= 1;
        else next();
      }
    },
  };
}
