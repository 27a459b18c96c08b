import { getPriority, setPriority } from 'node:os';

/** More than the main thread's. */
const niceness = 10;
const nicenessMax = 19;

/**
 * Called by a worker thread for itself: where cores are few, requests of the main thread come first. Of that thread
 * alone, which only Linux knows; elsewhere nothing happens.
 */
export function yieldToMainThread(): void {
  if (process.platform === 'linux') setPriority(Math.min(nicenessMax, getPriority() + niceness));
}
