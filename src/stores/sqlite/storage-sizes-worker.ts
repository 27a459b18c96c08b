import { parentPort } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { storageSizes } from './storage-sizes.ts';

yieldToMainThread();

parentPort!.on('message', ({ id, path }: { id: number; path: string }) => {
  try {
    parentPort!.postMessage({ id, result: storageSizes(path) });
  } catch (error) {
    parentPort!.postMessage({ id, error: String(error) });
  }
});
