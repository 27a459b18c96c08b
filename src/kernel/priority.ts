import { getPriority, setPriority } from 'node:os';

/** A larger number than ours means less priority. */
const niceness = 10;
const nicenessMax = 19;

const lower = () => Math.min(nicenessMax, getPriority() + niceness);

/**
 * Called by a worker thread for itself: where cores are few, requests of the main thread come first. Of that thread
 * alone, which only Linux knows; elsewhere nothing happens.
 */
export function yieldToMainThread(): void {
  if (process.platform === 'linux') setPriority(lower());
}

/** From here on that process has the processor only when nobody else wants it. `pid` undefined: it never started. */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, lower());
  } catch {
    // The process has ended, or we have no right to: it runs as it is.
  }
}
