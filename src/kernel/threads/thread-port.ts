import { type MessagePort, parentPort } from 'node:worker_threads';

/** The port to the thread that started this one. Throws in the main thread, which has none. */
export function threadPort(): MessagePort {
  if (parentPort === null) throw new Error('this file runs in a worker thread');
  return parentPort;
}
