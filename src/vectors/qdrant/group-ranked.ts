import { differentValues } from '../filter/reach.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { firstLook, groupPoints, isGroup, nextLook } from '../group-points.ts';
import type { PointId, ScoredPoint } from '../point.ts';
import type { GroupQuery, PointGroup } from '../vector-store.ts';
import { withPoints } from './order-points.ts';
import type { Partition } from './partition.ts';
import { type Reading, selectable } from './scan-values.ts';

/** Points in an order that was made here, best first. */
export type RankedHere = readonly { id: PointId; score: number; value?: number }[];

/** Points that are looked at for groups. */
const groupedPointsMax = 100_000;

/** The groups of the points from `rank`, which is asked for more until they are whole. */
export async function groupRanked(
  reading: Reading,
  partition: Partition,
  query: GroupQuery,
  rank: (limit: number) => Promise<RankedHere>,
): Promise<PointGroup[]> {
  for (let lookMax = query.groups * query.groupSize * firstLook; ; lookMax *= nextLook) {
    const limit = Math.min(lookMax, groupedPointsMax);
    const ranked = await rank(limit);
    const { groups, whole } = groupPoints(await groupValues(reading, partition, ranked, query.groupBy), query);
    if (!whole && ranked.length === limit && limit < groupedPointsMax) continue;
    const entries = [...groups].flatMap(([group, places]) => places.map((at) => ({ group, ...ranked[at]! })));
    const hits = new Map<string | number, ScoredPoint[]>();
    for (const { entry, point } of await withPoints(reading, partition, entries, query.want)) {
      const { group, score } = entry;
      hits.set(group, [...(hits.get(group) ?? []), { ...point, score }]);
    }
    return Array.from(hits, ([id, points]) => ({ id, hits: points }));
  }
}

/** Values of the key that each may be in a group by. */
async function groupValues(
  reading: Reading,
  partition: Partition,
  ranked: RankedHere,
  groupBy: string,
): Promise<(string | number)[][]> {
  const key = readKeyPath(groupBy, 'group_by');
  const want = { payload: { include: [selectable(key)] }, vector: false } as const;
  const values = new Map<PointId, (string | number)[]>();
  for (const { entry, point } of await withPoints(reading, partition, ranked, want)) {
    values.set(entry.id, differentValues(point.payload ?? null, key.steps).filter(isGroup));
  }
  return ranked.map(({ id }) => values.get(id) ?? []);
}
