// Writes the line of `progress.ts`, also while the command's own thread is busy.

import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { every } from '../kernel/every.ts';
import { threadPort } from '../kernel/threads/thread-port.ts';
import { lineState, progressLine } from './progress-line.ts';

const { state, commandStartedMs, width } = workerData as {
  state: Int32Array<SharedArrayBuffer>;
  commandStartedMs: number;
  width: number | null;
};
const paintIntervalMs = 200;

let text = '';
let writtenMs: number | null = null;
threadPort().on('message', (now: string) => {
  text = now;
});
every(paintIntervalMs, () => {
  const elapsedMs = performance.timeOrigin + performance.now() - commandStartedMs;
  const line = progressLine(text, elapsedMs, { width, writtenMs });
  if (line === null) return;
  if (Atomics.compareExchange(state, 0, lineState.idle, lineState.writing) !== lineState.idle) return;
  try {
    writeSync(2, line);
    writtenMs = elapsedMs;
    if (width !== null) Atomics.store(state, 1, 1);
  } catch {
    // Who read it is gone.
  } finally {
    Atomics.store(state, 0, lineState.idle);
    Atomics.notify(state, 0);
  }
});
