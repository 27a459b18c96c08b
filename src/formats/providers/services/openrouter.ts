import { objectIn } from '../../../kernel/json.ts';
import { withSystemForDeveloper } from '../histories.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';
import { claudeCaching } from '../prompt-caching.ts';
import { withCost } from '../reported-cost.ts';

/**
 * https://openrouter.ai/docs. Fields that the routed model lacks are ignored there, so none is omitted here; which
 * model can do what is the operator's to state. Errors carry the HTTP status as `error.code`, also inside a 200.
 */
export const openrouter = openAiLike({
  id: 'openrouter',
  title: 'OpenRouter',
  prices: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  envKey: 'OPENROUTER_API_KEY',
  // https://openrouter.ai/docs/api/api-reference/anthropic-messages: Claude's signed thoughts and marks pass as they are.
  families: [{ pattern: /^~?anthropic\//, dialects: ['openai-chat', 'anthropic-messages'] }],
  paths: { key: '/key' },
  forwards: { completions: '/completions', rerank: '/rerank' },
  promptCaching: claudeCaching,
  embeds: { ...openAiEmbeddings, dimensions: 'asked', encoding: 'asked', takesUser: true },
  // With a key of the operator's own at a provider, `cost` is OpenRouter's share alone.
  usageOf: withCost(({ cost, is_byok: isByok, cost_details: details }) =>
    isByok === true ? Number(cost) + Number(objectIn(details).upstream_inference_cost ?? Number.NaN) : cost,
  ),
  quirks: {
    nativeN: false,
    // "developer is not one of ['system', 'assistant', …]": it leaves the role to the services that it asks.
    models: [{ pattern: /^(?!gpt-|o\d|chatgpt|codex)/, history: withSystemForDeveloper }],
  },
  errors: [
    { status: 403, code: /moderation|flagged|guardrail/i, class: 'filtered' },
    { status: 400, code: /not a valid model|no endpoints found/i, class: 'model_unavailable' },
    // "No endpoints found that support tool use" is about this request.
    { status: 404, code: /no endpoints found that (?:support|can)/i, class: 'caller_fault' },
    { status: 404, code: /no endpoints found|no allowed providers/i, class: 'model_unavailable' },
  ],
});
