import type { VectorValue } from '../../point.ts';
import type { CodeImage } from './code-image.ts';
import { mappedInSteps, type Steps } from './resumable-steps.ts';
import type { Ranked, VectorIndex } from './vector-index.ts';

/** The index of a collection's vectors of one name, whatever kind they are of. See `VectorIndex`. */
export interface FieldIndex {
  readonly count: number;
  /** In memory, wherever; 0 where searches read the rows on disk. */
  readonly bytes: number;
  /** Bytes outside the arena. */
  readonly heapBytes: number;
  /** `before`: what stood in the slot; null for nothing. */
  put(slot: number, value: VectorValue, before: VectorValue | null): void;
  remove(slot: number, before: VectorValue | null): void;
  /** The queries as a search compares them: terms of `idf` weigh by how rare they are. */
  weighed(queries: readonly VectorValue[]): Steps<readonly VectorValue[]>;
  /** The same as `VectorIndex.search`. */
  search(query: VectorValue, k: number, options: { slots: Uint32Array | null; exact: boolean }): Steps<Ranked>;
  /** Null: it has none worth keeping. */
  image(): CodeImage | null;
  close(): void;
}

/** `FieldIndex.weighed` of vectors that have no terms. */
export const unweighed: FieldIndex['weighed'] = (queries) => mappedInSteps(queries, (query) => query);

/** An index of dense vectors in the arena. */
export function denseIndex(index: VectorIndex): FieldIndex {
  return {
    get count() {
      return index.count;
    },
    get bytes() {
      return index.bytes;
    },
    heapBytes: 0,
    put: (slot, value) => index.put(slot, value as Float32Array),
    remove: (slot) => index.remove(slot),
    weighed: unweighed,
    search: (query, k, options) => index.search(query as Float32Array, k, options),
    image: () => index.image(),
    close: () => index.close(),
  };
}
