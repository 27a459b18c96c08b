import type { Condition, Filter } from '../filter/filter.ts';
import type { PointId, ScoredPoint } from '../point.ts';
import { comparePointIds } from '../point-id.ts';
import type { PointQuery, VectorStore } from '../vector-store.ts';
import { shortestFloat } from './shortest-float.ts';

/** Points taken at random, and the number of nearest others for each. */
export interface DistanceMatrix {
  /** Filter of the points that may be taken. */
  filter: Filter | null;
  sample: number;
  limit: number;
  /** Name of the vector that is compared, '' the unnamed one. */
  using: string;
}

/** The points taken, by id, and of each its nearest among them, best first. */
interface Neighbours {
  ids: readonly PointId[];
  nearest: readonly (readonly ScoredPoint[])[];
}

/** Qdrant's `matrix/pairs`. */
export async function matrixPairs(store: VectorStore, tenant: string, collection: string, matrix: DistanceMatrix) {
  const { ids, nearest } = await neighbours(store, tenant, collection, matrix);
  return {
    pairs: nearest.flatMap((of, row) =>
      of.map(({ id, score }) => ({ a: ids[row], b: id, score: shortestFloat(score) })),
    ),
  };
}

/** Qdrant's `matrix/offsets`: the same as a sparse matrix whose rows and columns are `ids`. */
export async function matrixOffsets(store: VectorStore, tenant: string, collection: string, matrix: DistanceMatrix) {
  const { ids, nearest } = await neighbours(store, tenant, collection, matrix);
  const offsetOf = new Map(ids.map((id, offset) => [id, offset]));
  return {
    offsets_row: nearest.flatMap((found, row) => found.map(() => row)),
    offsets_col: nearest.flatMap((found) => found.map(({ id }) => offsetOf.get(id))),
    scores: nearest.flatMap((found) => found.map(({ score }) => shortestFloat(score))),
    ids,
  };
}

async function neighbours(
  store: VectorStore,
  tenant: string,
  collection: string,
  { filter, sample, limit, using }: DistanceMatrix,
): Promise<Neighbours> {
  const mayBeTaken: Condition[] = [{ kind: 'has-vector', name: using }];
  if (filter !== null) mayBeTaken.push({ kind: 'filter', filter });
  const taken = { ...query(all(mayBeTaken), sample), target: { kind: 'sample' } } as const;
  const [found = []] = await store.query(tenant, collection, [taken]);
  const ids = found.map(({ id }) => id).sort(comparePointIds);
  if (ids.length < 2) return { ids: [], nearest: [] };
  const candidates = query(all([{ kind: 'has-id', ids: new Set(ids) }]), limit);
  const searches = ids.map(
    (id): PointQuery => ({
      ...candidates,
      target: { kind: 'nearest', vector: { id }, mmr: null },
      ...(using !== '' && { using }),
    }),
  );
  return { ids, nearest: await store.query(tenant, collection, searches) };
}

function all(must: readonly Condition[]): Filter {
  return { must, should: [], mustNot: [], minShould: null };
}

function query(filter: Filter, limit: number): Omit<PointQuery, 'target'> {
  const want = { payload: false, vector: false };
  return { filter, limit, offset: 0, scoreThreshold: null, exact: true, want };
}
