import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { VectorSpec } from '../../collection.ts';
import type { VectorValue } from '../../point.ts';
import { eachInSteps, partsInSteps, type Steps } from '../index/resumable-steps.ts';
import { createTopK } from '../index/top-k.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { VectorRows } from '../vector-rows.ts';
import { asCompared, likeness } from './likeness.ts';

/** Examples of one query: with all strategies but average_vector every point is held against each of them. */
const examplesMax = 128;
/** Multiplications for comparing every point with every example, about ten seconds of the thread. */
const examplesWorkMax = 10_000_000_000;
/** Multiplications of one step: some milliseconds of the thread. */
const stepWork = 2_000_000;
/** Rows that one step reads, however small they are. */
const stepRowsMax = 64;
/** Assumed size of a sparse vector in such sums. */
const sparseSize = 256;

/** Numbers that comparing two vectors multiplies. */
export function comparedSize(spec: VectorSpec): number {
  return spec.kind === 'sparse' ? sparseSize : spec.size;
}

export interface Candidates {
  k: number;
  slots: Uint32Array | null;
  leaveOut: ReadonlySet<number>;
}

/** Throws a FailureError (400) for too many. */
export function boundExamples(count: number, param: string, at: string): void {
  if (count > examplesMax) throw new FailureError(invalid(param, `${at}: at most ${examplesMax} examples`));
}

/**
 * Every vector of that name, or of the candidates', by the score that `scoreOf` makes of its likeness to each example;
 * more is better. In steps, between which no row may change.
 */
export function* scoreEach(
  { memory }: OpenCollection,
  used: VectorRows,
  examples: readonly VectorValue[],
  { k, slots, leaveOut }: Candidates,
  scoreOf: (likenesses: readonly number[]) => number,
): Steps<Ranked> {
  const { spec, name } = used;
  const held = slots?.length ?? used.count();
  const work = Math.max(1, examples.length) * comparedSize(spec);
  if (held * work > examplesWorkMax) {
    const message = `strategy: points × examples × vector size is at most ${examplesWorkMax}; use average_vector, a filter, or fewer examples`;
    throw new FailureError(invalid('strategy', message));
  }
  const alike = likeness(spec);
  const isWeighed = spec.kind === 'sparse' && spec.modifier === 'idf';
  const compared = isWeighed ? yield* memory.weighed(name, examples) : examples.map((one) => asCompared(spec, one));
  const top = createTopK(Math.min(k, held));
  const offer = (slot: number, vector: VectorValue) => {
    if (!leaveOut.has(slot)) top.offer(Math.fround(scoreOf(compared.map((one) => alike(one, vector)))), slot);
  };
  const perStep = Math.min(stepRowsMax, Math.max(1, Math.floor(stepWork / work)));
  if (slots === null) yield* partsInSteps(perStep, (part) => used.each(offer, part));
  else {
    yield* eachInSteps(slots, perStep, (slot) => {
      const vector = used.look(slot);
      if (vector !== null) offer(slot, vector);
    });
  }
  const { keys, ids } = top.drain();
  return { slots: ids, scores: keys };
}

/** Qdrant's fast sigmoid, between −1 and 1: keeps the order. */
export function sigmoid(x: number): number {
  return x / (1 + Math.abs(x));
}

/** The same between 0 and 1. */
export function scaledSigmoid(x: number): number {
  return 0.5 * (sigmoid(x) + 1);
}
