import { workerData } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/thread-port.ts';
import { openCacheFile } from './cache-file.ts';
import type { CacheCall, CacheEnd, CacheFileOptions } from './sqlite-cache.ts';

yieldToMainThread();
const { file, bounds } = workerData as CacheFileOptions;
let remade: string | null = null;
const cache = openCacheFile(file, bounds, (why) => {
  remade = why;
});

threadPort().on('message', (call: CacheCall) => {
  const { id } = call;
  try {
    const answer = done(call);
    const generation = call.method === 'close' ? 0 : cache.generation();
    threadPort().postMessage({ id, result: { answer, generation, remade } satisfies CacheEnd });
    remade = null;
  } catch (error) {
    threadPort().postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
});

function done(call: CacheCall): unknown {
  switch (call.method) {
    case 'put':
      return cache.put(call.entries, call.nowMs);
    case 'clear':
      return cache.clear(call.which);
    case 'stats':
      return cache.stats(call.nowMs);
    case 'renew':
      return cache.renew(call.generation);
    case 'close':
      return cache.close();
  }
}
