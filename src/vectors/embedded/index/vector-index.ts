import type { Distance } from '../../collection.ts';
import type { RowWatch } from '../row-watch.ts';
import type { CodeImage, SavedImage } from './code-image.ts';
import type { ReadVectorsRoom } from './read-vectors.ts';
import type { Steps } from './resumable-steps.ts';

/**
 * The index of one collection, derived from its rows and kept up to date by the thread that owns them; in memory as far
 * as its tier says (design §12). Vectors come as they are stored: normalised for Cosine. `slot`: a row's number, dense
 * from 0, used again after a removal.
 */
export interface VectorIndex {
  /** Vectors held, and bytes of the arena that they take, without copies of rows; 0 on the tier that scans rows on disk. */
  readonly count: number;
  readonly bytes: number;
  /** Replaces what stood in the slot. The caller's row has been written; `rows` may or may not show it yet. */
  put(slot: number, vector: Float32Array): void;
  remove(slot: number): void;
  /**
   * The best `k`, best first; equal scores by slot. `slots`: ascending, the only rows that count; null: all. `exact`:
   * f32 over every row that counts. Scores as Qdrant's (see ScoredPoint). In steps where it reads many rows, between
   * which none may change.
   */
  search(query: Float32Array, k: number, options: { slots: Uint32Array | null; exact: boolean }): Steps<Ranked>;
  /** An image, so that it need not be made anew; null when making it takes no time. */
  image(): CodeImage | null;
  /** Gives the arena its memory back; the index cannot be used again. */
  close(): void;
}

/**
 * Searches an index of which only a part is there, as long as no row has been written since. Null: the whole index is
 * needed.
 */
export type EarlySearch = (query: Float32Array, k: number, slots: Uint32Array | null) => Ranked | null;

export interface Ranked {
  slots: Uint32Array;
  scores: Float64Array;
}

/** The rows on disk, the truth that indexes are made of. */
export interface RowSource {
  /** Rows there are, or more: points of which some have no vector. */
  count(): number;
  /** The vector in a slot; null when its point has none; may throw when there is no point. The array may be reused. */
  vector(slot: number): Float32Array | null;
  /**
   * Rows by slot, all or a part of them; a vector is good for its visit. Gives the slot that the next part begins at, null
   * after the last one.
   */
  each(visit: (slot: number, vector: Float32Array) => void, part?: RowPart): number | null;
  /** Counts rows that are gone through for one search. */
  watch: RowWatch;
}

/** The first `limit` rows from slot `from` on. */
export interface RowPart {
  from: number;
  limit: number;
}

export interface IndexOptions {
  distance: Distance;
  size: number;
  rows: RowSource;
  /** For rows that searches read one by one; absent: none is kept in memory. */
  room?: ReadVectorsRoom | undefined;
  /** Image of the present rows, which saves reading all of them. */
  image?: SavedImage | undefined;
  /** Called when a part of that image is enough for searches, and with null when it is not there any more. */
  early?: ((search: EarlySearch | null) => void) | undefined;
}
