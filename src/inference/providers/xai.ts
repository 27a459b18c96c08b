import { isObject, type JsonValue } from '../../kernel/json.ts';
import { imagesOfXai } from './image-models.ts';
import { openAiLike } from './openai-like.ts';

/** https://docs.x.ai/docs/api-reference */
export const xai = openAiLike({
  id: 'xai',
  title: 'xAI',
  baseUrl: 'https://api.x.ai/v1',
  envKey: 'XAI_API_KEY',
  forwards: { completions: '/completions' },
  images: imagesOfXai,
  usageOf: ({ usage }) => withThoughts(usage),
  errors: [
    // A wrong key is a 400 here.
    { status: 400, code: /incorrect api key/i, class: 'bad_credential' },
    { status: 403, code: /credits|spending limit/i, class: 'quota_exhausted' },
    { status: 429, code: /credits|spending limit/i, class: 'quota_exhausted' },
  ],
});

/** Thoughts are counted, and charged, beside `completion_tokens`, not among them; the total tells it. */
function withThoughts(usage: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(usage) || !isObject(usage.completion_tokens_details)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  const { reasoning_tokens: thoughts } = usage.completion_tokens_details;
  const counts = [prompt, completion, total, thoughts];
  if (!counts.every((count) => typeof count === 'number')) return usage;
  const [input, words, all, thought] = counts as [number, number, number, number];
  return input + words + thought === all ? { ...usage, completion_tokens: words + thought } : usage;
}
