import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

/** Share of the time since the last look. */
const busyShareMax = 0.4;
const lookIntervalMs = 20;
const restMs = 10;
/** A loop that is busy works at so few as fast as at many, and a caller who comes waits for these alone. */
const atOnceMaxBusy = 6;

/**
 * Room on the loop of this process for work that nobody waits for. `waiting`: callers of this process who wait for an
 * answer now.
 */
export function createLoopRoom(waiting: () => number) {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  let lastMs = performance.now();
  let busy = false;

  function isBusy(): boolean {
    const nowMs = performance.now();
    if (nowMs - lastMs >= lookIntervalMs) {
      const now = performance.eventLoopUtilization();
      busy = performance.eventLoopUtilization(now, last).utilization > busyShareMax;
      last = now;
      lastMs = nowMs;
    }
    return busy;
  }

  return {
    /** How many lines may run together as things are: more of them would only slow each other down. */
    atOnceMax: (): number => (isBusy() ? atOnceMaxBusy : Number.POSITIVE_INFINITY),
    /** While callers wait, holds work back as long as the loop is busy. */
    async wait(): Promise<void> {
      if (isBusy() && waiting() > 0) await pause(restMs);
    },
  };
}
