import type { JsonValue } from '../../kernel/json.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointId } from '../point.ts';
import { createValueCounts } from '../value-counts.ts';
import type { FacetHit, FacetQuery } from '../vector-store.ts';
import { keyInPayload, type Partition } from './partition.ts';
import { type Reading, scanValues } from './scan-values.ts';
import { writeFilter } from './write-filter.ts';

/** Different values that one call counts, in bytes. */
const countedBytesMax = 64 * 1024 * 1024;

/**
 * Counted here. Qdrant's own facets need an index of the key's type, which tenants of one Qdrant collection may each
 * have of another; they count values of that type alone.
 */
export async function countValues(
  reading: Reading,
  partition: Partition,
  { key, filter, limit }: FacetQuery,
): Promise<readonly FacetHit[]> {
  const path = readKeyPath(key, 'key');
  const counts = createValueCounts(path, countedBytesMax);
  const { must, ...others } = writeFilter(partition, filter);
  const passing = { ...others, must: [...must, { must_not: [{ is_empty: { key: keyInPayload(path.text) } }] }] };
  const count = (_id: PointId, values: readonly JsonValue[]) => {
    for (const value of values) counts.add(value);
  };
  return reading.inTurn(partition, async () => {
    await scanValues(reading, partition, path, () => passing, count);
    return counts.top(limit);
  });
}
