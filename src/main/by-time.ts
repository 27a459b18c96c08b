import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../observe/log.ts';

/** Calls `look` so often, without holding the process, until what it returns is called. */
export function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Soon after the start too: a server that is restarted every hour would keep everything for ever. */
const firstPruneMs = 60_000;
const pruneIntervalMs = 3_600_000;

/** Has what is old removed once an hour, until what it returns is called. `prune` is told wall-clock time. */
export function pruneByTime(parts: { prune(nowMs: number): Promise<unknown>[]; clock: Clock; log: Log }): () => void {
  const { prune, clock, log } = parts;
  const run = () => {
    Promise.all(prune(clock.wallMs())).catch((error: unknown) =>
      log.error({ error: String(error) }, 'old requests and files could not be removed'),
    );
  };
  const first = setTimeout(run, firstPruneMs);
  const timer = setInterval(run, pruneIntervalMs);
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}
