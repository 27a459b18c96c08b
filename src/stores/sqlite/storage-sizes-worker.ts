import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import { storageSizes } from './storage-sizes.ts';

yieldToMainThread();

threadPort().on('message', ({ id, path }: { id: number; path: string }) => {
  try {
    threadPort().postMessage({ id, result: storageSizes(path) });
  } catch (error) {
    threadPort().postMessage({ id, error: String(error) });
  }
});
