import type { NeutralReasoning } from '../../neutral/request.ts';

/** OpenAI's words from least to most, and Groq's for a model that only thinks or does not. */
const ranks: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 1],
  ['low', 2],
  ['medium', 3],
  ['default', 3],
  ['high', 4],
  ['xhigh', 5],
  ['max', 6],
]);

/** Nearest word for a budget in tokens. */
export function effortOfBudget(tokens: number): string {
  if (tokens <= 2_048) return 'low';
  return tokens <= 8_192 ? 'medium' : 'high';
}

/**
 * The word of `words` that is nearest to the wish, the greater one of two; null when there is none. `exact`: it means the
 * same.
 */
export function fittingEffort(
  { effort, budgetTokens }: NeutralReasoning,
  words: readonly string[],
): { word: string; exact: boolean } | null {
  const rank = ranks.get(effort ?? (budgetTokens === undefined ? '' : effortOfBudget(budgetTokens)));
  if (rank === undefined) return null;
  const distanceOf = (word: string) => Math.abs((ranks.get(word) ?? Number.POSITIVE_INFINITY) - rank);
  let [nearest] = words;
  if (nearest === undefined) return null;
  for (const word of words) if (distanceOf(word) <= distanceOf(nearest)) nearest = word;
  return { word: nearest, exact: effort !== undefined && distanceOf(nearest) === 0 };
}

/** OpenAI's models that take more than `high`, wherever they run, and the highest word of each. */
const highestByModel: readonly (readonly [model: RegExp, highest: string])[] = [
  [/(?:^|\/)gpt-(?:[6-9]|\d\d)/, 'max'],
  [/(?:^|\/)gpt-5\.(?:1-codex-max|(?:[2-9]|\d\d)(?!.*chat))/, 'xhigh'],
];

/** The caller's word above the usual ones as the model takes it. Undefined: it takes none. */
export function effortAbove(above: string, model: string): string | undefined {
  const highest = highestByModel.find(([pattern]) => pattern.test(model))?.[1];
  return highest === 'max' ? above : highest;
}
