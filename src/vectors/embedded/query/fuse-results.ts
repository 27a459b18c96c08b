import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { Fusion } from '../../vector-store.ts';
import { createTopK } from '../index/top-k.ts';
import type { Ranked } from '../index/vector-index.ts';

/** Several results as one, more being better, the best `k`. Throws a FailureError (400) for weights that do not fit. */
export function fuse(sources: readonly Ranked[], method: Fusion, k: number): Ranked {
  const sums = method.kind === 'rrf' ? reciprocalRanks(sources, method) : scaledScores(sources);
  const top = createTopK(Math.min(k, sums.size));
  for (const [slot, sum] of sums) top.offer(Math.fround(sum), slot);
  const { keys, ids } = top.drain();
  return { slots: ids, scores: keys };
}

/** Qdrant's: 1 / ((rank + 1) / weight + k − 1), ranks from 0. */
function reciprocalRanks(sources: readonly Ranked[], { k, weights }: Extract<Fusion, { kind: 'rrf' }>) {
  if (weights !== null && weights.length !== sources.length) {
    const message = `query.rrf.weights: expected ${sources.length} numbers, one for each prefetch, got ${weights.length}`;
    throw new FailureError(invalid('query.rrf.weights', message));
  }
  const sums = new Map<number, number>();
  sources.forEach(({ slots }, i) => {
    const weight = weights?.[i] ?? 1;
    slots.forEach((slot, rank) => {
      add(sums, slot, weight <= 0 ? 0 : 1 / ((rank + 1) / weight + k - 1));
    });
  });
  return sums;
}

/** Qdrant's distribution-based fusion: three deviations below the mean are 0, three above it 1. */
function scaledScores(sources: readonly Ranked[]) {
  const sums = new Map<number, number>();
  for (const { slots, scores } of sources) {
    const scale = scaleOf(scores);
    slots.forEach((slot, i) => {
      add(sums, slot, scale(scores[i]!));
    });
  }
  return sums;
}

function scaleOf(scores: Float64Array): (score: number) => number {
  const count = scores.length;
  if (count < 2) return () => 0.5;
  const mean = scores.reduce((sum, score) => sum + score, 0) / count;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (count - 1);
  const low = mean - 3 * Math.sqrt(variance);
  const high = mean + 3 * Math.sqrt(variance);
  return low === high ? () => 0.5 : (score) => (score - low) / (high - low);
}

function add(sums: Map<number, number>, slot: number, value: number): void {
  sums.set(slot, (sums.get(slot) ?? 0) + value);
}
