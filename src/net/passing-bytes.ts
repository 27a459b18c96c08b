import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Buffers of files that may lie about as garbage, over all files of this process. */
const garbageBytesMax = 8 * 1024 * 1024;

let passedBytes = 0;
let collect: (() => void) | null = null;

/**
 * To be told of every piece of a file that goes through memory. V8 counts buffers lightly, as their bytes lie outside
 * its heap, and lets some 60 MB of spent ones lie about before it looks: here they are collected every 8 MB, in 1 ms.
 */
export function bytesPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < garbageBytesMax) return;
  passedBytes = 0;
  collect ??= youngCollector();
  collect();
}

/** V8 has it behind a flag, which is read where a context is made: this process may be as it was started. */
function youngCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function' ? () => gc({ type: 'minor' }) : () => {};
}
