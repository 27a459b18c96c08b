import type { Neighbours } from '../vector-store.ts';
import { shortestFloat } from './shortest-float.ts';

/** Answer of Qdrant's `matrix/pairs`. */
export function matrixPairs({ ids, nearest }: Neighbours) {
  return {
    pairs: nearest.flatMap((of, row) =>
      of.map(({ id, score }) => ({ a: ids[row], b: id, score: shortestFloat(score) })),
    ),
  };
}

/** Answer of Qdrant's `matrix/offsets`: the same as a sparse matrix whose rows and columns are `ids`. */
export function matrixOffsets({ ids, nearest }: Neighbours) {
  const offsetOf = new Map(ids.map((id, offset) => [id, offset]));
  return {
    offsets_row: nearest.flatMap((found, row) => found.map(() => row)),
    offsets_col: nearest.flatMap((found) => found.map(({ id }) => offsetOf.get(id))),
    scores: nearest.flatMap((found) => found.map(({ score }) => shortestFloat(score))),
    ids,
  };
}
