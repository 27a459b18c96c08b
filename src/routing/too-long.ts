import type { TooLong } from '../formats/neutral/outcome.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import type { Choice } from './capability.ts';
import type { Lane } from './lane.ts';

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

const learntForMs = 10 * 60_000;
/** How far our estimate of a prompt and the upstream's count may be apart. Beyond, its numbers are of something else. */
const estimateOffMax = 3;

/**
 * Notes the context that a refusal named, so that the next prompt of such a size is sent elsewhere first. Only a size
 * that this very prompt may have exceeded is believed: what a message says of other numbers keeps nobody away.
 */
export function learnRoom(
  lanes: readonly Lane[],
  { inputTokensEstimate: estimated, maxOutputTokens, embedding }: RequestNeeds,
  tooLong: TooLong | undefined,
  nowMs: number,
): void {
  const most = tooLong?.most ?? 0;
  // Of many inputs each has the whole context.
  if (most < 1 || embedding !== undefined) return;
  const tokens = roomBy(most, tooLong?.sent ?? null, estimated, maxOutputTokens ?? 0);
  if (tokens === null) return;
  for (const { state } of lanes) state.room = { tokens, untilMs: nowMs + learntForMs };
}

/** In tokens by our estimate; null: the numbers do not fit the prompt. */
function roomBy(most: number, sent: number | null, estimated: number, outputTokens: number): number | null {
  if (sent === null) return estimated * estimateOffMax < most ? null : Math.min(most, estimated - 1);
  if (sent <= most) return null;
  if (isNear(sent, estimated)) return Math.floor((most * estimated) / sent);
  // Some count the output that was asked for, too.
  return isNear(sent, estimated + outputTokens) ? most : null;
}

function isNear(counted: number, estimated: number): boolean {
  return counted <= estimated * estimateOffMax && estimated <= counted * estimateOffMax;
}

/** A longer prompt was answered: the target holds more than was learnt. */
export function forgetOutgrown(lanes: readonly Lane[], { inputTokensEstimate }: RequestNeeds): void {
  for (const { state } of lanes) if (state.room !== null && inputTokensEstimate > state.room.tokens) state.room = null;
}
