import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import { storageSizes } from './storage-sizes.ts';

yieldToMainThread();

threadPort().on('message', ({ id, path, nowMs }: { id: number; path: string; nowMs: number }) => {
  try {
    threadPort().postMessage({ id, result: storageSizes(path, nowMs) });
  } catch (error) {
    threadPort().postMessage({ id, error: String(error) });
  }
});
