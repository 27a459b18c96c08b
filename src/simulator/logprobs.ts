import type { JsonObject } from '../kernel/json.ts';

/** Chat's `logprobs` for tokens that were never in doubt: plausible, the same every time. */
export function logprobsOf(tokens: readonly string[], alternatives: number): JsonObject {
  return {
    content: tokens.map((token, at) => ({
      ...entry(token, -0.01 * ((at % 5) + 1)),
      top_logprobs: Array.from({ length: alternatives }, (_, rank) =>
        entry(rank === 0 ? token : `${token}${rank}`, -0.01 * ((at % 5) + 1) - rank * 2),
      ),
    })),
    refusal: null,
  };
}

function entry(token: string, logprob: number): { token: string; logprob: number; bytes: number[] } {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
