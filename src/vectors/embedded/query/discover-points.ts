import type { VectorValue } from '../../point.ts';
import type { ContextPair } from '../../vector-store.ts';
import type { Steps } from '../index/resumable-steps.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointTable } from '../point-table.ts';
import type { VectorRows } from '../vector-rows.ts';
import { asCompared, type Likeness, likeness } from './likeness.ts';
import { type Lookups, resolveInput } from './resolve-input.ts';
import { boundExamples, type Candidates, scaledSigmoid, scoreEach, sigmoid } from './score-each.ts';

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
): Steps<Ranked> {
  const alike = likeness(used.spec);
  const comparableTarget = asCompared(used.spec, target);
  return scoreEach(used, 1 + pairs.length * 2, candidates, (vector) => {
    let rank = 0;
    for (const { positive, negative } of pairs) rank += Math.sign(margin(alike, positive, negative, vector));
    return rank + scaledSigmoid(alike(comparableTarget, vector));
  });
}

const contextMargin = 1.1920929e-7;

/** Qdrant's context search: 0 for a point in the better half of every pair. */
export function scoreByContext(used: VectorRows, { pairs }: ResolvedContext, candidates: Candidates): Steps<Ranked> {
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
