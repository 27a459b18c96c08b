import { comparable, exactScore, ranked } from './exact-score.ts';
import { eachInSteps, finish, partsInSteps, type Steps, scannedPerStep } from './resumable-steps.ts';
import { createTopK } from './top-k.ts';
import type { IndexOptions, Ranked, VectorIndex } from './vector-index.ts';

/** No memory at all: every search reads the rows it is about. For small collections, and for those that memory is too small for. */
export function createDiskIndex(options: IndexOptions): VectorIndex {
  const { rows } = options;
  return {
    get count() {
      return rows.count();
    },
    bytes: 0,
    put() {},
    remove() {},
    search: (query, k, { slots }) => scanInSteps(options, query, k, slots),
    image: () => null,
    close() {},
  };
}

/** The same as `scanInSteps` at once, for few slots. */
export function scanRows(options: IndexOptions, query: Float32Array, k: number, slots: Uint32Array): Ranked {
  return finish(scanInSteps(options, query, k, slots));
}

/**
 * The best `k` of the rows in `slots`, or of all, by their stored f32. Throws when a slot has no row. No row may change
 * between the steps.
 */
export function* scanInSteps(
  { distance, rows }: IndexOptions,
  query: Float32Array,
  k: number,
  slots: Uint32Array | null,
): Steps<Ranked> {
  const { score, sign } = exactScore(distance);
  const comparableQuery = comparable(distance, query);
  const top = createTopK(Math.min(k, slots === null ? rows.count() : slots.length));
  const rowRead = rows.watch.start();
  const offer = (slot: number, vector: Float32Array) => {
    rowRead();
    top.offer(score(comparableQuery, vector) * sign, slot);
  };
  if (slots === null) yield* partsInSteps(scannedPerStep, (part) => rows.each(offer, part));
  else {
    yield* eachInSteps(slots, scannedPerStep, (slot) => {
      const vector = rows.vector(slot);
      if (vector !== null) offer(slot, vector);
    });
  }
  return ranked(top, sign);
}
