import { FailureError, invalid } from '../../../kernel/failure.ts';
import { havingVector } from '../../neighbours-by-search.ts';
import type { PointId } from '../../point.ts';
import { comparePointIds } from '../../point-id.ts';
import type { NeighbourQuery, Neighbours } from '../../vector-store.ts';
import { type ExactScore, exactScore, ranked } from '../index/exact-score.ts';
import { mappedInSteps, type Steps } from '../index/resumable-steps.ts';
import { createTopK, type TopK } from '../index/top-k.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { VectorTables } from '../vector-rows.ts';
import { rank } from './rank-points.ts';
import { vectorsUsed } from './resolve-input.ts';
import type { SearchParts } from './search-points.ts';
import { pointReader } from './stored-points.ts';

/** Multiplications of one step: some milliseconds. */
const stepWork = 2_000_000;
/** Bytes of vectors in memory at a time: of larger samples some are read again. */
const partBytesMax = 8 * 1024 * 1024;

interface Taken {
  slot: number;
  id: PointId;
  /** Its nearest so far. */
  top: TopK;
}

/**
 * The nearest of each of some points taken by chance, among these, by dense vectors. Each vector is read once, unless
 * together they are too large, and each pair is compared once. In steps, between which the collection may not
 * change. Throws a FailureError (400) where it would take too long.
 */
export function* compareSample(
  tables: VectorTables,
  collection: OpenCollection,
  { filter, sample, limit, using }: NeighbourQuery,
  { random, budget, lookUp, workMax }: SearchParts & { workMax: number },
): Steps<Neighbours> {
  const open = { ...collection, lookUp };
  const { spec, value } = vectorsUsed(open, using);
  if (spec.kind !== 'dense') throw new Error('only dense vectors are compared with each other');
  const target = { kind: 'sample' } as const;
  const passing = havingVector(using, filter);
  const drawn = { target, filter: passing, limit: sample, scoreThreshold: null, exact: true };
  const { slots } = yield* rank({ tables, open, random }, drawn, sample);
  boundWork(slots.length, spec.size, workMax);
  const read = pointReader(open.memory.row, open.vectors, { payload: false, vector: false }, budget);
  const nearestMax = Math.min(limit, slots.length - 1);
  const taken = (slot: number): Taken => ({ slot, id: read(slot).id, top: createTopK(nearestMax) });
  const points = yield* mappedInSteps(slots.length < 2 ? [] : slots, taken);
  points.sort((a, b) => comparePointIds(a.id, b.id));
  const score = exactScore(spec.distance);
  yield* comparePairs(points, spec.size, (slot) => value(slot) as Float32Array, score);
  const idOf = new Map(points.map(({ slot, id }) => [slot, id]));
  const nearest = points.map(({ top }) => {
    const found = ranked(top, score.sign);
    return Array.from(found.slots, (slot, at) => ({
      id: idOf.get(slot) as PointId,
      score: found.scores[at] as number,
    }));
  });
  return { ids: points.map(({ id }) => id), nearest };
}

/** Offers each point to all others. */
function* comparePairs(
  points: readonly Taken[],
  size: number,
  vectorOf: (slot: number) => Float32Array,
  { score, sign }: ExactScore,
): Steps<void> {
  const partMax = Math.max(1, Math.floor(partBytesMax / (size * Float32Array.BYTES_PER_ELEMENT)));
  const pairsPerStep = Math.max(1, Math.floor(stepWork / size));
  let pairs = 0;
  for (let from = 0; from < points.length; from += partMax) {
    const read = (point: Taken) => ({ point, vector: vectorOf(point.slot) });
    const part = yield* mappedInSteps(points.slice(from, from + partMax), read);
    for (const [at, one] of points.entries()) {
      if (at <= from) continue;
      const vector = part[at - from]?.vector ?? vectorOf(one.slot);
      for (const { point: earlier, vector: other } of part) {
        if (earlier === one) break;
        const key = score(other, vector) * sign;
        earlier.top.offer(key, one.slot);
        one.top.offer(key, earlier.slot);
        pairs += 1;
        if (pairs % pairsPerStep === 0) yield;
      }
    }
  }
}

function boundWork(count: number, size: number, workMax: number): void {
  const countMax = Math.floor(Math.sqrt((2 * workMax) / size));
  if (count <= countMax) return;
  const message = `sample: at most ${countMax} points of ${size} numbers are compared in one call, got ${count}`;
  throw new FailureError(invalid('sample', message));
}
