import type { TooLong } from '../neutral/outcome.ts';
import type { Choice } from './create-route.ts';

/**
 * The prompt did not fit `refused`: it is not asked again, and neither are targets whose context is known to be no
 * larger, or smaller than the prompt. Those of an unknown size stay.
 */
export function leaveOutNoLarger(choices: readonly Choice[], refused: Choice, tooLong: TooLong | undefined): void {
  const { contextWindow } = refused.target;
  const held = tooLong?.most ?? contextWindow ?? 0;
  const neededTokens = Math.max(held + 1, tooLong?.sent ?? 0);
  refused.unfit = 'the prompt is too long for it';
  for (const choice of choices) {
    const window = choice.target.contextWindow;
    if (choice.unfit !== null || choice.running > 0 || window === null || window >= neededTokens) continue;
    choice.unfit = `no more room: its context holds ${window} tokens, the prompt needs ${neededTokens} or more`;
  }
}
