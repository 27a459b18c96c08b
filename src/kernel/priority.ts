import { getPriority, setPriority } from 'node:os';

/** How much larger a number than ours a thread or process gets: a larger one means less priority. */
const niceness = 10;
const nicenessMax = 19;

const lower = (by: number) => Math.min(nicenessMax, getPriority() + by);

/**
 * Called by a worker thread for itself: where cores are few, requests of the main thread come first. Of that thread
 * alone, which only Linux knows; elsewhere nothing happens. `by`: less for a thread whose answers callers wait for.
 */
export function yieldToMainThread(by: number = niceness): void {
  if (process.platform === 'linux') setPriority(lower(by));
}

/** From here on that process has the processor only when nobody else wants it. `pid` undefined: it never started. */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, lower(niceness));
  } catch {
    // The process has ended, or we have no right to: it runs as it is.
  }
}
