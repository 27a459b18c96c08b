import type { Clock } from '../kernel/clock.ts';
import { createLoopClock, type LoopInstant } from '../kernel/loop-clock.ts';

/**
 * Nothing heard of a store for this long is its silence: what waits for it is refused. So a store that is gone costs a
 * caller 250 ms with the way there and back. Our own loop's lag is left out (kernel/loop-clock).
 */
export const silentMaxMs = 230;

/** Longest wait for one answer, though the store answers others and whatever our loop did. */
export const answerMaxMs = 1_000;

/** The same of a read that counters are begun from: nothing is held yet. */
export const seedWaitMaxMs = 5_000;

/**
 * From the sending of a hold until its reservation is in the ledger, at most. Counters that begin anew wait for it
 * before they read the ledger.
 */
export const bookedMaxMs = 1_200;

/** A wait of so long asks whether the store answers others. */
export const slowAfterMs = 100;

/** How long to wait for a store: on a busy machine it answers late, and as long as it answers anybody it is not gone. */
export type Patience = ReturnType<typeof createPatience>;

export function createPatience(clock: Pick<Clock, 'monotonicMs'>) {
  const loop = createLoopClock(clock);
  let answeredAt = loop.now();
  return {
    /** The store has answered something. */
    answered(): void {
      answeredAt = loop.now();
    },
    /** The beginning of a wait. */
    now: loop.now,
    /** Ms left of a wait that began at `since`; 0 or less: give up. `maxMs` bounds it in all. */
    leftMs(since: LoopInstant, maxMs: number = answerMaxMs): number {
      const last = answeredAt.atMs > since.atMs ? answeredAt : since;
      return Math.min(loop.leftMs(last, silentMaxMs), since.atMs + maxMs - clock.monotonicMs());
    },
    stop: loop.stop,
  };
}

/** Rejects with `silence()` once patience is over; what comes later is ignored. `onSlow`: it takes a while. */
export function patiently<T>(
  patience: Pick<Patience, 'now' | 'leftMs'>,
  result: Promise<T>,
  { onSlow, silence, maxMs }: { onSlow: () => void; silence: () => Error; maxMs?: number },
): Promise<T> {
  const since = patience.now();
  return new Promise((resolve, reject) => {
    const look = () => {
      const ms = patience.leftMs(since, maxMs);
      if (ms <= 0) return reject(silence());
      onSlow();
      timer = setTimeout(look, Math.min(ms, slowAfterMs));
    };
    let timer = setTimeout(look, slowAfterMs);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
