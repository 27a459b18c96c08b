import { FailureError } from '../kernel/failure.ts';
import type { JsonValue } from '../kernel/json.ts';
import type { Scalar } from './filter/filter.ts';
import type { KeyPath } from './filter/key-path.ts';
import type { FacetHit } from './vector-store.ts';

/** About what a counted value takes, without its characters. */
const countedBytes = 64;

/** Number of points with each value. Objects, null and fractions are not facets, as in Qdrant. */
export type ValueCounts = ReturnType<typeof createValueCounts>;

export function createValueCounts(key: KeyPath, bytesMax: number) {
  const counts = new Map<Scalar, number>();
  let bytes = 0;
  return {
    /** Throws a FailureError (501) when the values are more than memory is given for. */
    add(value: JsonValue | object | undefined, points: number = 1): void {
      if (!isFacet(value) || points === 0) return;
      const count = counts.get(value) ?? 0;
      counts.set(value, count + points);
      if (count > 0) return;
      bytes += countedBytes + (typeof value === 'string' ? value.length : 0);
      if (bytes <= bytesMax) return;
      const message = `key: '${key.text}' has more different values than there is memory to count. Add a filter that leaves fewer points`;
      throw new FailureError({ kind: 'unsupported', message });
    },
    /** Most first, then by value: strings, numbers, booleans. */
    top(limit: number): FacetHit[] {
      const hits = [...counts].map(([value, count]) => ({ value, count }));
      return hits.sort((a, b) => b.count - a.count || compareValues(a.value, b.value)).slice(0, limit);
    },
  };
}

function isFacet(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
}

const kinds = ['string', 'number', 'boolean'];

function compareValues(a: Scalar, b: Scalar): number {
  return kinds.indexOf(typeof a) - kinds.indexOf(typeof b) || (a < b ? -1 : a > b ? 1 : 0);
}
