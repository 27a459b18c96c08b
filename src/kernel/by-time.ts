import type { Clock } from './clock.ts';
import { every } from './every.ts';

/** Soon after the start too: a server that is restarted every hour would keep everything for ever. */
const firstPruneMs = 60_000;
const pruneIntervalMs = 3_600_000;

/** A clock that leaps forward by more than this may be wrong. */
const leapMs = 86_400_000;
/** So long it must hold before anything is removed by it. A machine that was suspended leaps too. */
const heldMs = 86_400_000;

/**
 * Calls `prune` once an hour, until the returned function is called. `prune` gets wall-clock time, but not right after a
 * leap: what a wrong clock removes is gone.
 */
export function pruneByTime(parts: {
  prune(nowMs: number): Promise<unknown>[];
  clock: Clock;
  log: { error(facts: object, message: string): void };
}): () => void {
  const { prune, clock, log } = parts;
  const aheadMs = () => clock.wallMs() - clock.monotonicMs();
  let trustedMs = aheadMs();
  let leap: { aheadMs: number; sinceMs: number } | null = null;

  function isTrusted(): boolean {
    const nowAheadMs = aheadMs();
    const isLeap = nowAheadMs - trustedMs > leapMs;
    if (isLeap && (leap === null || Math.abs(nowAheadMs - leap.aheadMs) > leapMs)) {
      leap = { aheadMs: nowAheadMs, sinceMs: clock.monotonicMs() };
      const days = Math.floor((nowAheadMs - trustedMs) / 86_400_000);
      log.error({ days }, 'the clock leapt forward, so nothing old is removed for a day; set it right if it is wrong');
    }
    if (isLeap && clock.monotonicMs() - leap!.sinceMs < heldMs) return false;
    trustedMs = nowAheadMs;
    leap = null;
    return true;
  }

  const run = () => {
    if (!isTrusted()) return;
    Promise.all(prune(clock.wallMs())).catch((error: unknown) =>
      log.error({ error: String(error) }, 'old requests and files could not be removed'),
    );
  };
  const first = setTimeout(run, firstPruneMs);
  const stop = every(pruneIntervalMs, run);
  return () => {
    clearTimeout(first);
    stop();
  };
}
