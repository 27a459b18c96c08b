import { setFlagsFromString } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { isSoleProcess } from '../sole-process.ts';

/** For a thread that reads bodies or pages: the objects that it parses die young, and are never copied. */
const semiSpaceMb = 16;

/**
 * Starts a thread whose young generation is large from the start. V8 begins with 0.5 MB, which `bin/culvert.mjs` may keep
 * it from growing: every body of 10 MB was collected 15 times, by helper threads that the main thread waits for
 * (measured: 718 collections for 60 bodies, and 37 so). The size is V8's for all threads, so it is set back at once.
 */
export function withLargeYoungGeneration(start: () => Worker): Worker {
  if (!isSoleProcess()) return start();
  setFlagsFromString(`--min-semi-space-size=${semiSpaceMb}`);
  const worker = start();
  const setBack = () => setFlagsFromString('--min-semi-space-size=0');
  worker.once('online', setBack);
  worker.once('exit', setBack);
  return worker;
}
