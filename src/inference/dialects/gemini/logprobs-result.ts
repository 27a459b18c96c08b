import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** How likely each token was, as Google's clients read it. */
export interface LogprobsResult {
  chosenCandidates: JsonObject[];
  topCandidates: JsonObject[];
}

/** OpenAI's log probabilities, which the neutral form has; null when they hold none. */
export function logprobsResultOf(logprobs: JsonValue): LogprobsResult | null {
  const content = isObject(logprobs) ? logprobs.content : undefined;
  if (!Array.isArray(content) || content.length === 0) return null;
  const tokens = content.filter(isObject);
  return {
    chosenCandidates: tokens.map(candidateOf),
    topCandidates: tokens.map(({ top_logprobs: top }) => ({
      candidates: Array.isArray(top) ? top.filter(isObject).map(candidateOf) : [],
    })),
  };
}

function candidateOf({ token = '', logprob = null }: JsonObject): JsonObject {
  return { token, logProbability: logprob };
}
