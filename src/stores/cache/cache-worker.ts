import { workerData } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { createSealer, type Sealer } from '../../kernel/seal.ts';
import { answerOrders } from '../../kernel/threads/thread-port.ts';
import { openCacheFile, type WrittenEntry } from './cache-file.ts';
import type { GatheredEntry } from './gathered-writes.ts';
import { sealContext, sealPurpose } from './seal-context.ts';
import type { CacheCall, CacheEnd, CacheFileOptions } from './sqlite-cache.ts';

yieldToMainThread();
const { file, bounds } = workerData as CacheFileOptions;
let remade: string | null = null;
const cache = openCacheFile(file, bounds, (why) => {
  remade = why;
});

answerOrders((call: CacheCall): CacheEnd => {
  const answer = done(call);
  const end = { answer, generation: call.method === 'close' ? 0 : cache.generation(), remade };
  remade = null;
  return end;
});

function done(call: CacheCall): unknown {
  switch (call.method) {
    case 'put':
      return cache.put(writtenOf(call), call.nowMs);
    case 'swap':
      return cache.swap(call.entry, call.over, call.nowMs);
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

let sealing: { secret: string; sealer: Sealer } | null = null;

function sealerOf(secret: string): Sealer {
  if (sealing?.secret !== secret) sealing = { secret, sealer: createSealer([secret], sealPurpose) };
  return sealing.sealer;
}

function writtenOf({ entries, shared, secret }: Extract<CacheCall, { method: 'put' }>): WrittenEntry[] {
  const sealer = secret === null ? null : sealerOf(secret);
  return entries.map(({ scope, digest, entry, body, form }) => {
    const bytes = bytesOf(body, shared);
    const sealed = form === 'open' && sealer !== null ? sealer.seal(bytes, sealContext(scope, digest, entry)) : bytes;
    return { scope, digest, entry: { ...entry, body: sealed } };
  });
}

function bytesOf(body: GatheredEntry['body'], shared: SharedArrayBuffer | null): Uint8Array {
  if (body instanceof Uint8Array || shared === null) return body instanceof Uint8Array ? body : new Uint8Array(0);
  return new Uint8Array(shared, body.start, body.end - body.start);
}
