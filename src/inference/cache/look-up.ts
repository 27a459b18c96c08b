import type { CacheStore } from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Failure } from '../../kernel/failure.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { AliasCache } from '../models/alias.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { CacheDirectives } from './cache-directives.ts';
import type { CacheKey } from './cache-key.ts';
import type { Landed } from './flight.ts';
import { packEntry, unpackEntry } from './packed-entry.ts';

/** A look into the store that takes longer is a miss. */
export const lookMsMax = 20;

/** A request with the place of its answer. */
export interface KeyedLook {
  store: Pick<CacheStore, 'get' | 'put'>;
  clock: Pick<Clock, 'wallMs'>;
  /** `error`: the store was slow or gone, or what it gave is damaged. That is a miss, too. */
  cacheLookup(outcome: 'hit' | 'miss' | 'error', savedUsd: number): void;
  key: CacheKey;
  rule: Pick<AliasCache, 'ttlMs'>;
  directives: CacheDirectives;
}

/** The kept answer that the caller and the operator take; null: there is none. */
export async function look({ store, clock, cacheLookup, key, rule, directives }: KeyedLook): Promise<Landed | null> {
  if (directives.use === 'refresh') return null;
  try {
    const found = await withinMs(lookMsMax, store.get(key.scope, key.digest), 'late');
    if (found === 'late') throw new Error('the cache is slow');
    const ageMs = found === null ? 0 : clock.wallMs() - found.atMs;
    const isFresh = ageMs < rule.ttlMs && (directives.maxAgeS === null || ageMs < directives.maxAgeS * 1_000);
    const entry = found === null || !isFresh ? null : unpackEntry(found.body, key);
    const isDamaged = found !== null && isFresh && entry === null;
    if (found === null || entry === null) cacheLookup(isDamaged ? 'error' : 'miss', 0);
    return found === null || entry === null ? null : { entry, atMs: found.atMs };
  } catch {
    cacheLookup('error', 0);
    return null;
  }
}

/** Looks find the answer from now on. */
export function write(
  { store, cacheLookup, key, rule, tag }: Omit<KeyedLook, 'clock' | 'directives'> & { tag: string | null },
  { principal }: ModelCall,
  model: string,
  { entry, atMs }: Landed,
): void {
  const body = packEntry(entry, key);
  const stored = { atMs, expiresAtMs: atMs + rule.ttlMs, keyId: principal.keyId, model, tag, body };
  store.put(key.scope, key.digest, stored).catch(() => cacheLookup('error', 0));
}

/** Refusal of a request that asks for a kept answer alone. */
export const notCached: Failure = {
  kind: 'not-cached',
  message:
    "No cached answer exists for this request, and x-culvert-cache is 'only'. Leave the header out to ask for one.",
};
