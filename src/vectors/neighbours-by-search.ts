import { type Condition, type Filter, filterOf } from './filter/filter.ts';
import type { PointId, ScoredPoint } from './point.ts';
import { comparePointIds } from './point-id.ts';
import type { NeighbourQuery, Neighbours, PointQuery } from './vector-store.ts';

/** The nearest of each of some points taken by chance, among these, by a search for each of them. */
export async function neighboursBySearch(
  search: (queries: readonly PointQuery[]) => Promise<readonly (readonly ScoredPoint[])[]>,
  { filter, sample, limit, using }: NeighbourQuery,
): Promise<Neighbours> {
  const [found = []] = await search([{ ...query(havingVector(using, filter), sample), target: { kind: 'sample' } }]);
  const ids = found.map(({ id }) => id).sort(comparePointIds);
  if (ids.length < 2) return { ids: [], nearest: [] };
  const candidates = query(filterOf('must', [{ kind: 'has-id', ids: new Set(ids) }]), limit);
  const searches = ids.map(
    (id: PointId): PointQuery => ({
      ...candidates,
      target: { kind: 'nearest', vector: { id }, mmr: null },
      ...(using !== '' && { using }),
    }),
  );
  return { ids, nearest: await search(searches) };
}

/** Points that pass and have a vector of that name. */
export function havingVector(name: string, filter: Filter | null): Filter {
  const must: Condition[] = [{ kind: 'has-vector', name }];
  if (filter !== null) must.push({ kind: 'filter', filter });
  return filterOf('must', must);
}

function query(filter: Filter, limit: number): Omit<PointQuery, 'target'> {
  const want = { payload: false, vector: false };
  return { filter, limit, offset: 0, scoreThreshold: null, exact: true, want };
}
