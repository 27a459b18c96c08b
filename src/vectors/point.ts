import type { JsonObject } from '../kernel/json.ts';

/** An unsigned integer up to 2^53−1, or a UUID in lower case with its hyphens. Integers stand before UUIDs in order. */
export type PointId = number | string;

/** Points as they are written: row `i` of `vectors` belongs to `ids[i]`. */
export interface PointBatch {
  ids: readonly PointId[];
  /** `ids.length` × the collection's size, row after row, as the caller gave them (not normalised). */
  vectors: Float32Array;
  /** JSON text of an object each; null = no payload. */
  payloads: readonly (string | null)[];
}

/** A point as it is read back. What was not asked for is absent. */
export interface StoredPoint {
  id: PointId;
  payload?: JsonObject | null;
  /** Length = the collection's size; of Cosine collections the normalised vector, as Qdrant gives it. */
  vector?: Float32Array | null;
}

/** `score`: as Qdrant's: similarity for Cosine and Dot (more is nearer), distance for Euclid and Manhattan (less is),
 * 1 where nothing is scored. */
export interface ScoredPoint extends StoredPoint {
  score: number;
  /** Of a query in order of a payload key: the value that the point stands there by. */
  orderValue?: number | string;
}

/** What of a point is read back. `fields`: paths such as `a.b`. */
export interface Want {
  payload: boolean | { include: readonly string[] } | { exclude: readonly string[] };
  vector: boolean;
}
