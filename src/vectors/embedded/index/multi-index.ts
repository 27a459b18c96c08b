import type { VectorSpec } from '../../collection.ts';
import type { VectorValue } from '../../point.ts';
import { asCompared, likeness } from '../query/likeness.ts';
import type { RowWatch } from '../row-watch.ts';
import { ranked } from './exact-score.ts';
import { type FieldIndex, unweighed } from './field-index.ts';
import { eachInSteps, partsInSteps } from './resumable-steps.ts';
import { createTopK } from './top-k.ts';
import type { RowPart } from './vector-index.ts';

export interface MultiOptions {
  spec: Extract<VectorSpec, { kind: 'multi' }>;
  rows: {
    count(): number;
    value(slot: number): VectorValue | null;
    each(visit: (slot: number, value: VectorValue) => void, part?: RowPart): number | null;
    watch: RowWatch;
  };
}

/** Multivectors a step, of up to a hundred vectors each, so that a step takes some milliseconds. */
const multiPerStep = 4;

/** Multivectors take no memory: every search reads the rows that it is about, and is exact. */
export function createMultiIndex({ spec, rows }: MultiOptions): FieldIndex {
  const alike = likeness(spec);
  return {
    get count() {
      return rows.count();
    },
    bytes: 0,
    heapBytes: 0,
    put() {},
    remove() {},
    weighed: unweighed,
    *search(query, k, { slots }) {
      const comparableQuery = asCompared(spec, query);
      const top = createTopK(Math.min(k, slots?.length ?? rows.count()));
      const rowRead = rows.watch.start();
      const offer = (slot: number, value: VectorValue) => {
        rowRead();
        top.offer(alike(comparableQuery, value), slot);
      };
      if (slots === null) yield* partsInSteps(multiPerStep, (part) => rows.each(offer, part));
      else {
        yield* eachInSteps(slots, multiPerStep, (slot) => {
          const value = rows.value(slot);
          if (value !== null) offer(slot, value);
        });
      }
      const found = ranked(top, 1);
      return { slots: found.slots, scores: found.scores.map((sum) => shownScore(spec, sum)) };
    },
    image: () => null,
    close() {},
  };
}

/** Qdrant's form of the sum of similarities: for Euclid and Manhattan a distance, less being nearer. */
function shownScore({ distance }: MultiOptions['spec'], sum: number): number {
  if (distance === 'Euclid') return Math.fround(Math.sqrt(Math.abs(sum)));
  return Math.fround(distance === 'Manhattan' ? Math.abs(sum) : sum);
}
