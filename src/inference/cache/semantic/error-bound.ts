/** Checked answers by the similarity of their questions, in whole percent: how many were right, and how many wrong. */
export type Observed = Readonly<Record<number, readonly [right: number, wrong: number]>>;

/** The share of times that the bound may be too low. */
const tooLowShare = 0.05;

/**
 * An upper bound on the share of wrong answers among questions of this similarity, 1 where nothing is known. It is
 * Clopper and Pearson's one-sided bound over all observations at this similarity or below, at 95 % confidence.
 *
 * vCache (arXiv 2502.03771) fits a sigmoid of correctness over similarity for each entry, and takes the end of its
 * confidence band. Both take it that nearer questions are not wrong more often. This bound takes nothing else: it
 * holds for every such curve, also for that sigmoid, and it is exact for few observations. So it asks for more of
 * them: 299 right ones for 1 %, 59 for 5 %.
 */
export function errorBound(observed: Observed, similarity: number): number {
  const step = stepOf(similarity);
  let [right, wrong] = [0, 0];
  for (const [at, counts] of Object.entries(observed)) {
    if (Number(at) > step) continue;
    right += counts[0];
    wrong += counts[1];
  }
  return upperBound(wrong, right + wrong);
}

export function withObservation(observed: Observed, similarity: number, isRight: boolean): Observed {
  const step = stepOf(similarity);
  const [right, wrong] = observed[step] ?? [0, 0];
  return { ...observed, [step]: isRight ? [right + 1, wrong] : [right, wrong + 1] };
}

function stepOf(similarity: number): number {
  return Math.floor(similarity * 100 + 1e-6);
}

/** The share at which `wrong` of `all` or fewer would come with `tooLowShare`. */
export function upperBound(wrong: number, all: number): number {
  if (wrong >= all) return 1;
  let [low, high] = [wrong / all, 1];
  for (let n = 0; n < 40; n += 1) {
    const share = (low + high) / 2;
    if (atMost(wrong, all, share) > tooLowShare) low = share;
    else high = share;
  }
  return high;
}

/** The chance of at most `wrong` of `all` where each is wrong with this chance, above 0 and below 1. */
function atMost(wrong: number, all: number, chance: number): number {
  let logTerm = all * Math.log1p(-chance);
  let sum = Math.exp(logTerm);
  for (let n = 1; n <= wrong; n += 1) {
    logTerm += Math.log((all - n + 1) / n) + Math.log(chance / (1 - chance));
    sum += Math.exp(logTerm);
  }
  return sum;
}
