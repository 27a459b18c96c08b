import type { JsonObject } from '../kernel/json.ts';

/** An unsigned integer up to 2^53−1, or a UUID in lower case with its hyphens. Integers come before UUIDs in order. */
export type PointId = number | string;

/** Only the numbers that are not 0: `values[i]` belongs to `indices[i]`; indices ascend, none twice. */
export interface SparseVector {
  indices: Uint32Array;
  values: Float32Array;
}

/** Several vectors of one length, row after row; at least one. */
export interface MultiVector {
  rows: number;
  numbers: Float32Array;
}

export type VectorValue = Float32Array | SparseVector | MultiVector;

export function isSparse(value: VectorValue): value is SparseVector {
  return 'indices' in value;
}

export function isMulti(value: VectorValue): value is MultiVector {
  return 'rows' in value;
}

/** The vectors of one name, one for each of a batch's ids; null: the point has none, or is not to get another. */
export interface NamedColumn {
  name: string;
  values: readonly (VectorValue | null)[];
}

/** Vectors of a write: row `i` of `vectors` belongs to `ids[i]`. */
export interface VectorBatch {
  ids: readonly PointId[];
  /** Unnamed ones: `ids.length` × the collection's size, row after row, as the caller gave them (not normalised). */
  vectors: Float32Array;
  /** Positions whose row in `vectors` counts for nothing: the point has no unnamed vector. Absent: none. */
  without?: ReadonlySet<number>;
  named?: readonly NamedColumn[];
}

/** Points of a write. */
export interface PointBatch extends VectorBatch {
  /** JSON text of an object each; null: no payload. */
  payloads: readonly (string | null)[];
}

/** A point that was read. Parts that were not requested are absent. */
export interface StoredPoint {
  id: PointId;
  payload?: JsonObject | null;
  /** The unnamed one. Length = the collection's size; for Cosine the normalised vector, as in Qdrant. */
  vector?: Float32Array | null;
  /** The requested named vectors that the point has; absent where none was requested. */
  named?: Readonly<Record<string, VectorValue>>;
}

/** `score`: as Qdrant's: similarity for Cosine and Dot (more is nearer), distance for Euclid and Manhattan (less is),
 * 1 where nothing is scored. */
export interface ScoredPoint extends StoredPoint {
  score: number;
  /** For a query in order of a payload key: the point's value of that key. */
  orderValue?: number | string;
}

/** Parts of a point to read. `fields`: paths such as `a.b`. */
export interface Want {
  payload: boolean | { include: readonly string[] } | { exclude: readonly string[] };
  /** true: all of them; names: those, '' the unnamed one. */
  vector: boolean | readonly string[];
}
