import type { FoundHits } from './run-search.ts';

const lifetimeMs = 10 * 60_000;
/** Questions remembered; at the bound the oldest go. */
const entriesMax = 2_000;
/** Rough size of all answers together. */
const charsMax = 8_000_000;

/** Answers of engines, so that the same query within ten minutes costs the operator nothing. */
export type SearchCache = ReturnType<typeof createSearchCache>;

/** `nowMs`: monotonic. Keys must hold the tenant: no tenant may learn of another's queries. */
export function createSearchCache(nowMs: () => number) {
  const entries = new Map<string, { found: FoundHits; untilMs: number; chars: number }>();
  let chars = 0;

  function forget(key: string): void {
    chars -= entries.get(key)?.chars ?? 0;
    entries.delete(key);
  }

  return {
    get(key: string): FoundHits | null {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      if (entry.untilMs > nowMs()) return entry.found;
      forget(key);
      return null;
    },
    put(key: string, found: FoundHits): void {
      const size = key.length + JSON.stringify(found).length;
      forget(key);
      entries.set(key, { found, untilMs: nowMs() + lifetimeMs, chars: size });
      chars += size;
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax && chars <= charsMax) break;
        forget(oldest);
      }
    },
  };
}
