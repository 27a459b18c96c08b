import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../observe/log.ts';

/** Calls `look` at this interval, without keeping the process alive, until the returned function is called. */
export function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Soon after the start too: a server that is restarted every hour would keep everything for ever. */
const firstPruneMs = 60_000;
const pruneIntervalMs = 3_600_000;

/** Calls `prune` once an hour, until the returned function is called. `prune` gets wall-clock time. */
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
