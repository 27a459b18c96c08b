import { workerData } from 'node:worker_threads';
import { threadPort } from '../../../kernel/threads/thread-port.ts';
import { loadKernels } from '../kernels/kernels.ts';
import type { PassWorkerData } from './pass-threads.ts';
import { passWords, type SharedPass, takeShares } from './row-pass.ts';

/** A thread that helps with passes over the arena of another one. */
const { memory, words, number } = workerData as PassWorkerData;
const { kernels } = loadKernels(memory);
const waits = () => Atomics.store(words, passWords.busy + number, 0);
threadPort().on('message', (shared: SharedPass) => {
  takeShares(kernels, memory, words, shared);
  waits();
});
waits();
