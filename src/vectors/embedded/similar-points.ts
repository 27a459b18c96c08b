import { FailureError, invalid } from '../../kernel/failure.ts';
import { isMulti, isSparse, type SparseVector, type VectorValue } from '../point.ts';
import type { ContextPair, RecommendStrategy, Target } from '../store.ts';
import { createTopK } from './index/top-k.ts';
import type { Ranked } from './index/vector-index.ts';
import { asCompared, type Likeness, likeness } from './likeness.ts';
import type { OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import { type Lookups, type ResolvedInput, resolveInput } from './resolve-input.ts';
import type { VectorRows } from './vector-rows.ts';

/** Examples of one query: with all strategies but average_vector every point is held against each of them. */
const examplesMax = 128;
/** Multiplications that re-ranking by diversity may take, about two seconds of the thread. */
const mmrWorkMax = 2_000_000_000;
/** The same for holding every point against every example, about ten seconds. */
const examplesWorkMax = 10_000_000_000;
/** What a sparse vector is taken for in such sums. */
const sparseSize = 256;

export interface Examples {
  positive: readonly ResolvedInput[];
  negative: readonly ResolvedInput[];
}

export interface Candidates {
  k: number;
  slots: Uint32Array | null;
  leaveOut: ReadonlySet<number>;
}

/** Throws a FailureError (400) for what its strategy cannot work with. */
export function resolveExamples(
  points: PointTable,
  open: OpenCollection & Lookups,
  used: VectorRows,
  target: Extract<Target, { kind: 'recommend' }>,
): Examples {
  const { positive, negative, strategy } = target;
  boundExamples(positive.length + negative.length, 'positive', 'positive, negative');
  if (strategy === 'average_vector' && positive.length === 0) {
    throw new FailureError(invalid('positive', 'positive: average_vector needs at least one example'));
  }
  if (positive.length + negative.length === 0) {
    throw new FailureError(invalid('positive', `positive, negative: ${strategy} needs at least one example`));
  }
  return {
    positive: positive.map((input, i) => resolveInput(points, open, used, input, `positive[${i}]`)),
    negative: negative.map((input, i) => resolveInput(points, open, used, input, `negative[${i}]`)),
  };
}

function boundExamples(count: number, param: string, at: string): void {
  if (count > examplesMax) throw new FailureError(invalid(param, `${at}: at most ${examplesMax} examples`));
}

/** Qdrant's average_vector: the mean of what is liked, moved away from the mean of what is not. */
export function averageOf({ positive, negative }: Examples): VectorValue {
  const [first] = positive;
  if (isSparse(first!.vector)) return averageSparse(positive, negative);
  if (isMulti(first!.vector)) return joined(positive, negative);
  const size = first!.vector.length;
  const liked = mean(positive, size);
  if (negative.length === 0) return liked;
  const disliked = mean(negative, size);
  return liked.map((component, i) => component + component - disliked[i]!);
}

function mean(examples: readonly ResolvedInput[], size: number): Float32Array {
  const sum = new Float64Array(size);
  for (const { vector } of examples) {
    for (let i = 0; i < size; i++) sum[i] = sum[i]! + (vector as Float32Array)[i]!;
  }
  return Float32Array.from(sum, (component) => component / examples.length);
}

function averageSparse(positive: readonly ResolvedInput[], negative: readonly ResolvedInput[]): SparseVector {
  const sums = new Map<number, number>();
  const addAll = (examples: readonly ResolvedInput[], factor: number) => {
    for (const { vector } of examples) {
      const { indices, values } = vector as SparseVector;
      indices.forEach((index, i) => {
        sums.set(index, (sums.get(index) ?? 0) + values[i]! * factor);
      });
    }
  };
  addAll(positive, (negative.length === 0 ? 1 : 2) / positive.length);
  if (negative.length > 0) addAll(negative, -1 / negative.length);
  const indices = Uint32Array.from(sums.keys()).sort();
  return { indices, values: Float32Array.from(indices, (index) => sums.get(index)!) };
}

/** Multivectors have no mean: the rows of all, those of what is not liked turned round. */
function joined(positive: readonly ResolvedInput[], negative: readonly ResolvedInput[]): VectorValue {
  const parts = [
    ...positive.map(({ vector }) => vector),
    ...negative.map(({ vector }) => {
      const multi = vector as Extract<VectorValue, { rows: number }>;
      return { rows: multi.rows, numbers: multi.numbers.map((number) => -number) };
    }),
  ] as Extract<VectorValue, { rows: number }>[];
  const numbers = new Float32Array(parts.reduce((sum, part) => sum + part.numbers.length, 0));
  let at = 0;
  for (const part of parts) {
    numbers.set(part.numbers, at);
    at += part.numbers.length;
  }
  return { rows: parts.reduce((sum, part) => sum + part.rows, 0), numbers };
}

/** Every vector of that name, or of the candidates', by what `scoreOf` gives it; more is better. */
function scoreEach(
  used: VectorRows,
  examples: number,
  { k, slots, leaveOut }: Candidates,
  scoreOf: (vector: VectorValue) => number,
): Ranked {
  const { spec } = used;
  const held = slots?.length ?? used.count();
  if (held * examples * (spec.kind === 'sparse' ? sparseSize : spec.size) > examplesWorkMax) {
    const message = `strategy: points × examples × vector size is at most ${examplesWorkMax}; use average_vector, a filter, or fewer examples`;
    throw new FailureError(invalid('strategy', message));
  }
  const top = createTopK(Math.min(k, held));
  const offer = (slot: number, vector: VectorValue) => {
    if (!leaveOut.has(slot)) top.offer(Math.fround(scoreOf(vector)), slot);
  };
  if (slots === null) used.each(offer);
  else {
    for (const slot of slots) {
      const vector = used.value(slot);
      if (vector !== null) offer(slot, vector);
    }
  }
  const { keys, ids } = top.drain();
  return { slots: ids, scores: keys };
}

/** Qdrant's best_score and sum_scores over every point, or the candidates; more is better with every distance. */
export function scoreByExamples(
  used: VectorRows,
  examples: Examples,
  strategy: Exclude<RecommendStrategy, 'average_vector'>,
  candidates: Candidates,
): Ranked {
  const alike = likeness(used.spec);
  const positive = examples.positive.map(({ vector }) => asCompared(used.spec, vector));
  const negative = examples.negative.map(({ vector }) => asCompared(used.spec, vector));
  const scoreOf = strategy === 'best_score' ? bestScore : sumOfScores;
  return scoreEach(used, positive.length + negative.length, candidates, (vector) =>
    scoreOf(
      positive.map((example) => alike(example, vector)),
      negative.map((example) => alike(example, vector)),
    ),
  );
}

function bestScore(liked: readonly number[], disliked: readonly number[]): number {
  const best = Math.max(...liked);
  const worst = Math.max(...disliked);
  return best > worst ? scaledSigmoid(best) : -scaledSigmoid(worst);
}

/** Qdrant's fast sigmoid, and the same between 0 and 1: keeps the order, and what is liked above what is not. */
function sigmoid(x: number): number {
  return x / (1 + Math.abs(x));
}

function scaledSigmoid(x: number): number {
  return 0.5 * (sigmoid(x) + 1);
}

function sumOfScores(liked: readonly number[], disliked: readonly number[]): number {
  return liked.reduce((sum, one) => sum + one, 0) - disliked.reduce((sum, one) => sum + one, 0);
}

interface ComparedPair {
  positive: VectorValue;
  negative: VectorValue;
}

export interface ResolvedContext {
  pairs: readonly ComparedPair[];
  /** Points of the collection that the pairs name. */
  named: readonly number[];
}

export function resolveContext(
  points: PointTable,
  open: OpenCollection & Lookups,
  used: VectorRows,
  context: readonly ContextPair[],
): ResolvedContext {
  boundExamples(context.length * 2, 'context', 'context');
  const named: number[] = [];
  const resolve = (input: ContextPair['positive'], at: string) => {
    const { vector, slot } = resolveInput(points, open, used, input, at);
    if (slot !== null) named.push(slot);
    return asCompared(used.spec, vector);
  };
  const pairs = context.map(({ positive, negative }, i) => ({
    positive: resolve(positive, `context[${i}].positive`),
    negative: resolve(negative, `context[${i}].negative`),
  }));
  return { pairs, named };
}

/** Qdrant's discovery: how many pairs are won less those lost, then how near the target is. */
export function discover(
  used: VectorRows,
  target: VectorValue,
  { pairs }: ResolvedContext,
  candidates: Candidates,
): Ranked {
  const alike = likeness(used.spec);
  const wanted = asCompared(used.spec, target);
  return scoreEach(used, 1 + pairs.length * 2, candidates, (vector) => {
    let rank = 0;
    for (const { positive, negative } of pairs) rank += Math.sign(margin(alike, positive, negative, vector));
    return rank + scaledSigmoid(alike(wanted, vector));
  });
}

const contextMargin = 1.1920929e-7;

/** Qdrant's context search: 0 for what lies in the better half of every pair. */
export function scoreByContext(used: VectorRows, { pairs }: ResolvedContext, candidates: Candidates): Ranked {
  const alike = likeness(used.spec);
  return scoreEach(used, pairs.length * 2, candidates, (vector) => {
    let sum = 0;
    for (const { positive, negative } of pairs) {
      sum += sigmoid(Math.min(margin(alike, positive, negative, vector) - contextMargin, 0));
    }
    return sum;
  });
}

/** By how much the vector is more like the one than like the other, in f32 as Qdrant compares. */
function margin(alike: Likeness, positive: VectorValue, negative: VectorValue, vector: VectorValue): number {
  return Math.fround(alike(positive, vector)) - Math.fround(alike(negative, vector));
}

/** Picks `limit` of the ranked points, each near the query and unlike those picked before it. Scores stay. */
export function diversified(
  used: VectorRows,
  query: VectorValue,
  candidates: Ranked,
  options: { limit: number; diversity: number },
): Ranked {
  const { spec } = used;
  const count = candidates.slots.length;
  const limit = Math.min(options.limit, count);
  if (limit * count * (spec.kind === 'sparse' ? sparseSize : spec.size) > mmrWorkMax) {
    throw new FailureError(
      invalid(
        'mmr.candidates_limit',
        `mmr.candidates_limit: limit × candidates × vector size is at most ${mmrWorkMax}`,
      ),
    );
  }
  const alike = likeness(spec);
  const wanted = asCompared(spec, query);
  const vectors = Array.from(candidates.slots, (slot) => used.value(slot)!);
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
    for (const i of left) nearestPicked[i] = Math.max(nearestPicked[i]!, alike(vectors[i]!, vectors[best]!));
  }
  return {
    slots: Uint32Array.from(picked, (i) => candidates.slots[i]!),
    scores: Float64Array.from(picked, (i) => candidates.scores[i]!),
  };
}
