import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Usage } from '../../neutral/usage.ts';
import { estimatedTokens, toldCount } from '../../neutral/usage.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { faultOf, forwardedRequest } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

/** Documents in the order in which they answer a query: Cohere's format, which Jina, vLLM and others took over. */
export const rerank: ForwardedEndpoint = {
  id: 'rerank',
  cost: 1,
  path: '/v1/rerank',
  readRequest(raw, body, scan) {
    const wrong = faultOf(body, null);
    if (wrong !== null) return { ok: false, failure: wrong };
    const value = forwardedRequest(raw, body, scan, {
      defaultModel: null,
      inputTokensEstimate: estimatedTokens(raw.length),
      maxOutputTokens: null,
      stream: false,
      includeUsage: false,
      start: '',
    });
    return { ok: true, value };
  },
  // Voyage's servers call the list `data`.
  readInPassing: () => readWholeInPassing((body) => faultInList(body, ['results', 'data'], 0), usageOf),
};

/** Jina, vLLM and Together tell tokens in `usage`, Cohere in `meta`, or searches alone; OpenRouter both. */
function usageOf({ usage, meta }: JsonObject): Usage | null {
  const tokens = neutralUsage(usage) ?? usageOfMeta(meta);
  const searchUnits = searchesOf(usage) ?? (isObject(meta) ? searchesOf(meta.billed_units) : null);
  if (searchUnits === null) return tokens;
  return { ...(tokens ?? { inputTokens: 0, outputTokens: 0 }), searchUnits };
}

function usageOfMeta(meta: JsonValue | undefined): Usage | null {
  if (!isObject(meta)) return null;
  for (const counts of [meta.tokens, meta.billed_units]) {
    if (!isObject(counts)) continue;
    const { input_tokens, output_tokens, total_tokens } = counts;
    const told = neutralUsage({
      ...(input_tokens !== undefined && { prompt_tokens: input_tokens }),
      ...(output_tokens !== undefined && { completion_tokens: output_tokens }),
      ...(total_tokens !== undefined && { total_tokens }),
    });
    if (told !== null) return told;
  }
  return null;
}

function searchesOf(counts: JsonValue | undefined): number | null {
  return isObject(counts) ? toldCount(counts.search_units) : null;
}
