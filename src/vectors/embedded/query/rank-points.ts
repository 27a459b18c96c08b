import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { Random } from '../../../kernel/random.ts';
import type { VectorSpec } from '../../collection.ts';
import { allOf, type Filter } from '../../filter/filter.ts';
import { refuse } from '../../filter/refuse.ts';
import type { VectorValue } from '../../point.ts';
import type { ContextPair, PointQuery, Prefetch, Target } from '../../vector-store.ts';
import type { Steps } from '../index/resumable-steps.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointTable } from '../point-table.ts';
import type { VectorRows, VectorTables } from '../vector-rows.ts';
import { averageOf } from './average-vector.ts';
import { fuse } from './fuse-results.ts';
import { asCompared, likeness } from './likeness.ts';
import { idOrder, orderByValue, sampleSlots } from './order-points.ts';
import { resolveExamples, scoreByExamples } from './recommend-points.ts';
import { type Lookups, resolveInput, vectorsUsed } from './resolve-input.ts';
import { scoreByFormula } from './score-by-formula.ts';
import { boundExamples, type Candidates, comparedSize, scaledSigmoid, scoreEach, sigmoid } from './score-each.ts';

export interface RankParts {
  tables: VectorTables;
  open: OpenCollection & Lookups;
  random: Random;
}

/** Slots to rank: all that pass, null being everything, or those that the prefetches found. */
export function* candidateSlots(parts: RankParts, { prefetch = [], filter }: Prefetch): Steps<Uint32Array | null> {
  const filters = filter === null ? [] : [filter];
  if (prefetch.length > 0) return unionOf(yield* rankAll(parts, prefetch, filters));
  return filter === null ? null : yield* parts.open.memory.selecting(filter);
}

/**
 * The best `k` results of a query, best first and none worse than its threshold; points that it names are left out.
 * `outer`: filters of the searches around it. Throws a FailureError when it does not fit the collection. In steps,
 * between which the collection may not change.
 */
export function* rank(parts: RankParts, query: Prefetch, k: number, outer: readonly Filter[] = []): Steps<Ranked> {
  const filters = query.filter === null ? outer : [...outer, query.filter];
  const { prefetch = [], target } = query;
  if (prefetch.length === 0) {
    if (target.kind === 'fusion' || target.kind === 'formula') {
      refuse('query', `a ${target.kind} needs a prefetch, because it works on its results`);
    }
    const filter = allOf(filters);
    const slots = filter === null ? null : yield* parts.open.memory.selecting(filter);
    return passing(yield* rankCandidates(parts, query, k, slots), query, parts.open);
  }
  if (target.kind === 'all') refuse('query', 'is missing: say how the results of the prefetch are ranked');
  const sources = yield* rankAll(parts, prefetch, filters);
  return passing(yield* rankSources(parts, query, k, sources), query, parts.open);
}

function* rankAll(parts: RankParts, queries: readonly Prefetch[], filters: readonly Filter[]): Steps<Ranked[]> {
  const found: Ranked[] = [];
  for (const one of queries) found.push(yield* rank(parts, one, one.limit, filters));
  return found;
}

function* rankSources(parts: RankParts, query: Prefetch, k: number, sources: readonly Ranked[]): Steps<Ranked> {
  const { target } = query;
  if (target.kind === 'fusion') return fuse(sources, target.method, k);
  if (target.kind === 'formula') return yield* scoreByFormula(parts.tables, parts.open, target.formula, sources, k);
  return yield* rankCandidates(parts, query, k, unionOf(sources));
}

/** Ascending, each once. */
function unionOf(sources: readonly Ranked[]): Uint32Array {
  const all = new Set<number>();
  for (const { slots } of sources) for (const slot of slots) all.add(slot);
  return Uint32Array.from(all).sort();
}

function* rankCandidates(parts: RankParts, query: Prefetch, k: number, slots: Uint32Array | null): Steps<Ranked> {
  const { open, random } = parts;
  const { points } = parts.tables;
  const { target } = query;
  switch (target.kind) {
    case 'order-by':
      return withoutScores(orderByValue(open, target.order, slots, k).map(({ slot }) => slot));
    case 'sample':
      return withoutScores(sampleSlots(points, open, slots, k, random));
    case 'all':
      return withoutScores(idOrder(points, open, slots, null, k).map(({ slot }) => slot));
    case 'fusion':
    case 'formula':
      return withoutScores([]);
    default:
      return yield* rankByVectors(parts, target, query, { k, slots });
  }
}

type VectorTarget = Extract<Target, { kind: 'nearest' | 'recommend' | 'discover' | 'context' }>;

function* rankByVectors(
  { tables: { points }, open }: RankParts,
  target: VectorTarget,
  { using, exact }: Prefetch,
  allowed: Pick<Candidates, 'k' | 'slots'>,
): Steps<Ranked> {
  const used = vectorsUsed(open, using);
  const find = (vector: VectorValue, k: number, leaveOut: ReadonlySet<number>) =>
    nearest(open, used, vector, { k, slots: allowed.slots, leaveOut }, exact);
  switch (target.kind) {
    case 'nearest': {
      const { vector, slot } = resolveInput(points, open, used, target.vector, 'query');
      const leaveOut = new Set(slot === null ? [] : [slot]);
      if (target.mmr === null) return yield* find(vector, allowed.k, leaveOut);
      const { candidates, diversity } = target.mmr;
      const ranked = yield* find(vector, Math.min(candidates, open.row.points), leaveOut);
      return diversified(used, vector, ranked, { limit: allowed.k, diversity });
    }
    case 'recommend': {
      const examples = resolveExamples(points, open, used, target);
      const named = [...examples.positive, ...examples.negative].map(({ slot }) => slot);
      const leaveOut = new Set(named.filter((slot) => slot !== null));
      if (target.strategy === 'average_vector') return yield* find(averageOf(examples), allowed.k, leaveOut);
      return yield* scoreByExamples(open, used, examples, target.strategy, { ...allowed, leaveOut });
    }
    case 'discover': {
      const { vector, slot } = resolveInput(points, open, used, target.target, 'target');
      const context = resolveContext(points, open, used, target.context);
      const leaveOut = new Set(slot === null ? context.named : [...context.named, slot]);
      return yield* scoreEach(open, used, [...context.vectors, vector], { ...allowed, leaveOut }, discoveryScore);
    }
    case 'context': {
      const { vectors, named } = resolveContext(points, open, used, target.context);
      return yield* scoreEach(open, used, vectors, { ...allowed, leaveOut: new Set(named) }, contextScore);
    }
  }
}

/** The score that Qdrant gives where nothing is scored. */
export const unscored = 1;

function withoutScores(slots: readonly number[]): Ranked {
  return { slots: Uint32Array.from(slots), scores: new Float64Array(slots.length).fill(unscored) };
}

function* nearest(
  open: OpenCollection,
  used: VectorRows,
  vector: VectorValue,
  { k, slots, leaveOut }: Candidates,
  exact: boolean,
): Steps<Ranked> {
  if (k === 0 || slots?.length === 0) return withoutScores([]);
  const ranked = yield* open.memory.search(used.name, vector, k + leaveOut.size, { slots, exact });
  if (leaveOut.size === 0) return ranked;
  const chosen = new Set(
    [...ranked.slots.entries()].flatMap(([i, slot]) => (leaveOut.has(slot) ? [] : [i])).slice(0, k),
  );
  return filtered(ranked, (i) => chosen.has(i));
}

/** Without those that are worse than the threshold. Re-ranked by diversity, scores are in no order. */
function passing({ slots, scores }: Ranked, query: Prefetch, { vectors }: OpenCollection): Ranked {
  const threshold = query.scoreThreshold;
  if (threshold === null || !isScored(query.target)) return { slots, scores };
  const spec = vectors.get(query.using ?? '')?.spec;
  const lessIsNearer = spec !== undefined && isDistance(query.target, spec);
  const passes = scores.map((score) => Number(lessIsNearer ? score <= threshold : score >= threshold));
  return filtered({ slots, scores }, (i) => passes[i] === 1);
}

function filtered({ slots, scores }: Ranked, isIncluded: (i: number) => boolean): Ranked {
  return { slots: slots.filter((_, i) => isIncluded(i)), scores: scores.filter((_, i) => isIncluded(i)) };
}

function isScored({ kind }: PointQuery['target']): boolean {
  return kind !== 'order-by' && kind !== 'sample' && kind !== 'all';
}

/** Whether less is nearer. */
function isDistance(target: Target, spec: VectorSpec): boolean {
  if (spec.kind === 'sparse' || spec.distance === 'Cosine' || spec.distance === 'Dot') return false;
  return target.kind === 'nearest' || (target.kind === 'recommend' && target.strategy === 'average_vector');
}

/** Multiplications that it may take, about two seconds of the thread. */
const mmrWorkMax = 2_000_000_000;

/** Picks `limit` of the ranked points, each near the query and unlike those picked before it. Scores stay. */
function diversified(
  used: VectorRows,
  query: VectorValue,
  candidates: Ranked,
  options: { limit: number; diversity: number },
): Ranked {
  const { spec } = used;
  const count = candidates.slots.length;
  const limit = Math.min(options.limit, count);
  if (limit * count * comparedSize(spec) > mmrWorkMax) {
    throw new FailureError(
      invalid(
        'mmr.candidates_limit',
        `mmr.candidates_limit: limit × candidates × vector size is at most ${mmrWorkMax}`,
      ),
    );
  }
  const alike = likeness(spec);
  const comparableQuery = asCompared(spec, query);
  const vectors = Array.from(candidates.slots, (slot) => used.value(slot)!);
  const relevance = vectors.map((vector) => alike(comparableQuery, vector));
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

interface ResolvedContext {
  /** The positive and the negative example of each pair in turn. */
  vectors: readonly VectorValue[];
  /** Points of the collection that the pairs name. */
  named: readonly number[];
}

function resolveContext(
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
    return vector;
  };
  const vectors = context.flatMap(({ positive, negative }, i) => [
    resolve(positive, `context[${i}].positive`),
    resolve(negative, `context[${i}].negative`),
  ]);
  return { vectors, named };
}

/** Qdrant's discovery: how many pairs are won less those lost, then how near the target is, which comes last. */
function discoveryScore(likenesses: readonly number[]): number {
  let rank = 0;
  for (let i = 0; i + 2 < likenesses.length; i += 2) rank += Math.sign(margin(likenesses, i));
  return rank + scaledSigmoid(likenesses.at(-1) ?? 0);
}

const contextMargin = 1.1920929e-7;

/** Qdrant's context search: 0 for a point in the better half of every pair. */
function contextScore(likenesses: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < likenesses.length; i += 2) sum += sigmoid(Math.min(margin(likenesses, i) - contextMargin, 0));
  return sum;
}

/** By how much a vector is nearer to the positive example of the pair at `i` than to the negative one, in f32 as in Qdrant. */
function margin(likenesses: readonly number[], i: number): number {
  return Math.fround(likenesses[i]!) - Math.fround(likenesses[i + 1]!);
}
