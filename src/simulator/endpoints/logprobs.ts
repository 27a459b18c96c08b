import type { JsonObject } from '../../kernel/json.ts';

/** Chat's `logprobs` for tokens that were never in doubt: plausible, and the same for the same token. */
export function logprobsOf(tokens: readonly string[], alternatives: number): JsonObject {
  return {
    content: tokens.map((token) => ({
      ...entry(token, certainty(token)),
      top_logprobs: Array.from({ length: alternatives }, (_, rank) =>
        entry(rank === 0 ? token : `${token}${rank}`, certainty(token) - rank * 2),
      ),
    })),
    refusal: null,
  };
}

function certainty(token: string): number {
  return -0.01 * token.length;
}

function entry(token: string, logprob: number): { token: string; logprob: number; bytes: number[] } {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
