import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

/** Of the time since the last look: above it the loop is left to those who wait for their answers. */
const busyShareMax = 0.4;
const lookIntervalMs = 20;
const restMs = 10;

/**
 * Resolves when the loop of this process has room for work that nobody waits for: while callers wait (`waiting`), it
 * holds that work back as long as the loop is busy.
 */
export function createLoopRoom(waiting: () => number): () => Promise<void> {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  let lastMs = performance.now();
  let isBusy = false;
  return async () => {
    const nowMs = performance.now();
    if (nowMs - lastMs >= lookIntervalMs) {
      const now = performance.eventLoopUtilization();
      isBusy = performance.eventLoopUtilization(now, last).utilization > busyShareMax;
      last = now;
      lastMs = nowMs;
    }
    if (isBusy && waiting() > 0) await pause(restMs);
  };
}
