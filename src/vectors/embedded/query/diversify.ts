import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { VectorValue } from '../../point.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { VectorRows } from '../vector-rows.ts';
import { asCompared, likeness } from './likeness.ts';
import { comparedSize } from './score-each.ts';

/** Multiplications that it may take, about two seconds of the thread. */
const mmrWorkMax = 2_000_000_000;

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
