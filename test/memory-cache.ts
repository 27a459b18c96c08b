import type {
  CacheBounds,
  CacheEntry,
  CacheScopeStats,
  CacheSelection,
  CacheStore,
} from '../src/books/metering/cache-store.ts';

/** Bytes of an entry in addition to its body. */
const entryBytes = 512;

const plainBounds: CacheBounds = { scopeBytes: 16 * 1024 * 1024, totalBytes: 64 * 1024 * 1024 };

/** A cache in the memory of this process. */
export function memoryCache(nowMs: () => number, { scopeBytes, totalBytes }: CacheBounds = plainBounds): CacheStore {
  const scopes = new Map<string, Scope>();
  let bytes = 0;

  function remove(scope: string, digest: string): void {
    const of = scopes.get(scope);
    const entry = of?.entries.get(digest);
    if (of === undefined || entry === undefined) return;
    of.entries.delete(digest);
    of.bytes -= sizeOf(entry);
    bytes -= sizeOf(entry);
    if (of.entries.size === 0) scopes.delete(scope);
  }

  const store: CacheStore = {
    async get(scope, digest) {
      const entry = scopes.get(scope)?.entries.get(digest);
      if (entry === undefined) return null;
      if (entry.expiresAtMs > nowMs()) return entry;
      remove(scope, digest);
      return null;
    },
    async put(scope, digest, entry) {
      const size = sizeOf(entry);
      if (size > Math.min(scopeBytes, totalBytes)) return;
      remove(scope, digest);
      const of = scopes.get(scope) ?? { entries: new Map<string, CacheEntry>(), bytes: 0 };
      // The scope that was written last is the last of the map: the first one is dropped from where all are full.
      scopes.delete(scope);
      scopes.set(scope, of);
      of.entries.set(digest, entry);
      of.bytes += size;
      bytes += size;
      while (of.bytes > scopeBytes) remove(scope, firstOf(of.entries));
      while (bytes > totalBytes) {
        const oldest = firstOf(scopes);
        remove(oldest, firstOf(scopes.get(oldest)?.entries ?? new Map()));
      }
    },
    async swap(scope, digest, entry, over) {
      const found = scopes.get(scope)?.entries.get(digest);
      const isThere = found !== undefined && found.expiresAtMs > nowMs();
      if ((isThere ? found.atMs : null) !== over) return false;
      await store.put(scope, digest, entry);
      return true;
    },
    async clear(which) {
      const gone = [...scopes].flatMap(([scope, { entries }]) =>
        [...entries].filter(([, entry]) => isMeant(which, scope, entry)).map(([digest]) => [scope, digest] as const),
      );
      for (const [scope, digest] of gone) remove(scope, digest);
      return gone.length;
    },
    async stats() {
      return [...scopes].flatMap(([scope, { entries }]) =>
        [...Map.groupBy(entries.values(), (entry) => entry.model)].map(([model, of]): CacheScopeStats => {
          const bytes = of.reduce((sum, entry) => sum + sizeOf(entry), 0);
          return {
            scope,
            model,
            entries: of.length,
            bytes,
            oldestMs: of.reduce((oldest, { atMs }) => Math.min(oldest, atMs), Infinity),
          };
        }),
      );
    },
    async close() {
      scopes.clear();
      bytes = 0;
    },
  };
  return store;
}

interface Scope {
  /** By digest, the oldest first. */
  entries: Map<string, CacheEntry>;
  bytes: number;
}

function sizeOf({ body }: CacheEntry): number {
  return body.length + entryBytes;
}

function firstOf(map: ReadonlyMap<string, unknown>): string {
  return map.keys().next().value ?? '';
}

function isMeant({ scope, keyId, model, tag }: CacheSelection, scopeOf: string, entry: CacheEntry): boolean {
  return (
    (scope ?? scopeOf) === scopeOf &&
    (keyId ?? entry.keyId) === entry.keyId &&
    (model ?? entry.model) === entry.model &&
    (tag === undefined || tag === entry.tag)
  );
}
