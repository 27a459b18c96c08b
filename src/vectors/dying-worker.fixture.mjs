// A thread that ends at the first call it should prepare, and answers every question with its own.
import { parentPort } from 'node:worker_threads';

parentPort.on('message', (message) => {
  if (message.kind === 'prepare') process.exit(3);
  if (message.kind === 'close') parentPort.postMessage({ kind: 'done', id: message.id, result: null });
  if (message.kind === 'store') parentPort.postMessage({ kind: 'done', id: message.id, result: message.method });
});
parentPort.postMessage({ kind: 'ready', collections: [] });
