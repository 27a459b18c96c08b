import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { RecommendStrategy, Target } from '../../vector-store.ts';
import type { Steps } from '../index/resumable-steps.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointTable } from '../point-table.ts';
import type { VectorRows } from '../vector-rows.ts';
import type { Examples } from './average-vector.ts';
import { type Lookups, resolveInput } from './resolve-input.ts';
import { boundExamples, type Candidates, scaledSigmoid, scoreEach } from './score-each.ts';

/** Throws a FailureError (400) when its strategy cannot work with the examples. */
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

/** Qdrant's best_score and sum_scores over every point, or the candidates; more is better with every distance. */
export function scoreByExamples(
  open: OpenCollection,
  used: VectorRows,
  { positive, negative }: Examples,
  strategy: Exclude<RecommendStrategy, 'average_vector'>,
  candidates: Candidates,
): Steps<Ranked> {
  const examples = [...positive, ...negative].map(({ vector }) => vector);
  const scoreOf = strategy === 'best_score' ? bestScore : sumOfScores;
  return scoreEach(open, used, examples, candidates, (likenesses) =>
    scoreOf(likenesses.slice(0, positive.length), likenesses.slice(positive.length)),
  );
}

function bestScore(liked: readonly number[], disliked: readonly number[]): number {
  const best = Math.max(...liked);
  const worst = Math.max(...disliked);
  return best > worst ? scaledSigmoid(best) : -scaledSigmoid(worst);
}

function sumOfScores(liked: readonly number[], disliked: readonly number[]): number {
  return liked.reduce((sum, one) => sum + one, 0) - disliked.reduce((sum, one) => sum + one, 0);
}
