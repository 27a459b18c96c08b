import { isObject } from '../../../kernel/json.ts';
import { schemaForJsonMode } from '../answer-forms.ts';
import { withTurns } from '../histories.ts';
import { openAiLike } from '../openai-like.ts';
import { withCost } from '../reported-cost.ts';

/**
 * https://docs.perplexity.ai: Sonar searches the web before it answers. It has no list of models. What it does not know
 * of sampling is left out; it calls no tools.
 */
export const perplexity = openAiLike({
  id: 'perplexity',
  title: 'Perplexity',
  baseUrl: 'https://api.perplexity.ai',
  envKey: 'PERPLEXITY_API_KEY',
  paths: { models: null },
  usageOf: withCost(({ cost }) => (isObject(cost) ? cost.total_cost : undefined)),
  quirks: {
    // "After the (optional) system message(s), user and assistant roles should be alternating."
    systemFirst: true,
    history: withTurns,
    // "ResponseFormatJSONSchema -> type: Input should be 'json_schema'".
    fits: [schemaForJsonMode],
    omitConverted: ['top_k'],
    omit: ['logit_bias', 'parallel_tool_calls', 'service_tier'],
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
    logprobs: false,
    seed: false,
  },
});
