import { FailureError, invalid } from '../../kernel/failure.ts';
import type { Distance } from '../collection.ts';
import { noPoint } from '../refusals.ts';
import type { RecommendStrategy, Target, VectorInput } from '../store.ts';
import { comparable, exactScore } from './index/exact-score.ts';
import { createTopK } from './index/top-k.ts';
import type { Ranked } from './index/vector-index.ts';
import type { OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';

/** Examples of one `recommend`: with best_score and sum_scores every point is held against each of them. */
const examplesMax = 128;
/** Multiplications that re-ranking by diversity may take, about two seconds of the thread. */
const mmrWorkMax = 2_000_000_000;
/** The same for holding every point against every example, about ten seconds. */
const examplesWorkMax = 10_000_000_000;

export interface ResolvedInput {
  vector: Float32Array;
  /** Set when it is a point of the collection. */
  slot: number | null;
}

/** Throws a FailureError: 404 for an unknown id, 400 for a vector of another length. */
export function resolveInput(points: PointTable, open: OpenCollection, input: VectorInput, at: string): ResolvedInput {
  if (input instanceof Float32Array) {
    if (input.length !== open.size) {
      throw new FailureError(invalid(at, `${at}: expected ${open.size} numbers, got ${input.length}`));
    }
    return { vector: input, slot: null };
  }
  const slot = points.slotOfId(open.cid, input.id);
  if (slot === null) throw noPoint(input.id);
  return { vector: points.vector(open.cid, slot, open.size), slot };
}

/** How alike two vectors are, more is nearer, as Qdrant's strategies reckon: of Euclid the square of the distance. */
function likeness(distance: Distance): (a: Float32Array, b: Float32Array) => number {
  const { score } = exactScore(distance);
  if (distance === 'Euclid') return (a, b) => -(score(a, b) ** 2);
  if (distance === 'Manhattan') return (a, b) => -score(a, b);
  return score;
}

export interface Examples {
  positive: readonly ResolvedInput[];
  negative: readonly ResolvedInput[];
}

/** Throws a FailureError (400) for what its strategy cannot work with. */
export function resolveExamples(
  points: PointTable,
  open: OpenCollection,
  target: Extract<Target, { kind: 'recommend' }>,
): Examples {
  const { positive, negative, strategy } = target;
  if (positive.length + negative.length > examplesMax) {
    throw new FailureError(invalid('positive', `positive, negative: at most ${examplesMax} examples`));
  }
  if (strategy === 'average_vector' && positive.length === 0) {
    throw new FailureError(invalid('positive', 'positive: average_vector needs at least one example'));
  }
  if (positive.length + negative.length === 0) {
    throw new FailureError(invalid('positive', `positive, negative: ${strategy} needs at least one example`));
  }
  return {
    positive: positive.map((input, i) => resolveInput(points, open, input, `positive[${i}]`)),
    negative: negative.map((input, i) => resolveInput(points, open, input, `negative[${i}]`)),
  };
}

/** Qdrant's average_vector: the mean of what is liked, moved away from the mean of what is not. */
export function averageOf({ positive, negative }: Examples, size: number): Float32Array {
  const liked = mean(positive, size);
  if (negative.length === 0) return liked;
  const disliked = mean(negative, size);
  return liked.map((component, i) => component + component - disliked[i]!);
}

function mean(examples: readonly ResolvedInput[], size: number): Float32Array {
  const sum = new Float64Array(size);
  for (const { vector } of examples) for (let i = 0; i < size; i++) sum[i] = sum[i]! + vector[i]!;
  return Float32Array.from(sum, (component) => component / examples.length);
}

/** Qdrant's best_score and sum_scores over every point, or those in `slots`; more is better with every distance. */
export function scoreByExamples(
  points: PointTable,
  { cid, size, row }: OpenCollection,
  examples: Examples,
  strategy: Exclude<RecommendStrategy, 'average_vector'>,
  options: { k: number; slots: Uint32Array | null; leaveOut: ReadonlySet<number> },
): Ranked {
  const { distance } = row.spec;
  const held = options.slots?.length ?? row.points;
  if (held * (examples.positive.length + examples.negative.length) * size > examplesWorkMax) {
    const message = `strategy: with ${strategy}, points × examples × vector size is at most ${examplesWorkMax}; use average_vector, a filter, or fewer examples`;
    throw new FailureError(invalid('strategy', message));
  }
  const alike = likeness(distance);
  const positive = examples.positive.map(({ vector }) => comparable(distance, vector));
  const negative = examples.negative.map(({ vector }) => comparable(distance, vector));
  const scoreOf = strategy === 'best_score' ? bestScore : sumOfScores;
  const top = createTopK(options.k);
  const offer = (slot: number, vector: Float32Array) => {
    if (options.leaveOut.has(slot)) return;
    const liked = positive.map((example) => alike(example, vector));
    const disliked = negative.map((example) => alike(example, vector));
    top.offer(Math.fround(scoreOf(liked, disliked)), slot);
  };
  if (options.slots === null) points.eachVector(cid, size, offer);
  else for (const slot of options.slots) offer(slot, points.vector(cid, slot, size));
  const { keys, ids } = top.drain();
  return { slots: ids, scores: keys };
}

function bestScore(liked: readonly number[], disliked: readonly number[]): number {
  const best = Math.max(...liked);
  const worst = Math.max(...disliked);
  return best > worst ? sigmoid(best) : -sigmoid(worst);
}

/** Qdrant's scaled fast sigmoid: keeps the order, and what is liked above what is not. */
function sigmoid(x: number): number {
  return 0.5 * (x / (1 + Math.abs(x)) + 1);
}

function sumOfScores(liked: readonly number[], disliked: readonly number[]): number {
  return liked.reduce((sum, one) => sum + one, 0) - disliked.reduce((sum, one) => sum + one, 0);
}

/** Picks `limit` of the ranked points, each near the query and unlike those picked before it. Scores stay. */
export function diversified(
  points: PointTable,
  { cid, size, row }: OpenCollection,
  query: Float32Array,
  candidates: Ranked,
  options: { limit: number; diversity: number },
): Ranked {
  const { distance } = row.spec;
  const count = candidates.slots.length;
  const limit = Math.min(options.limit, count);
  if (limit * count * size > mmrWorkMax) {
    throw new FailureError(
      invalid(
        'mmr.candidates_limit',
        `mmr.candidates_limit: limit × candidates × vector size is at most ${mmrWorkMax}`,
      ),
    );
  }
  const alike = likeness(distance);
  const wanted = comparable(distance, query);
  const vectors = Array.from(candidates.slots, (slot) => points.vector(cid, slot, size));
  const relevance = vectors.map((vector) => alike(wanted, vector));
  const nearestPicked = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  const left = new Set(vectors.keys());
  const picked: number[] = [];
  while (picked.length < limit) {
    let best = -1;
    let bestValue = Number.NEGATIVE_INFINITY;
    for (const i of left) {
      const value =
        picked.length === 0
          ? relevance[i]!
          : (1 - options.diversity) * relevance[i]! - options.diversity * nearestPicked[i]!;
      if (best !== -1 && !(value > bestValue)) continue;
      best = i;
      bestValue = value;
    }
    picked.push(best);
    left.delete(best);
    for (const i of left) nearestPicked[i] = Math.max(nearestPicked[i]!, alike(vectors[best]!, vectors[i]!));
  }
  return {
    slots: Uint32Array.from(picked, (i) => candidates.slots[i]!),
    scores: Float64Array.from(picked, (i) => candidates.scores[i]!),
  };
}
