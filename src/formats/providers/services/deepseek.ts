import { jsonModeForSchema } from '../answer-forms.ts';
import { thinkingDisabled, withoutThoughts } from '../forced-calls.ts';
import { inTurn, withoutThoughtsAlone, withSystemForDeveloper, withThoughtsBesideCalls } from '../histories.ts';
import { openAiLike } from '../openai-like.ts';

/** https://api-docs.deepseek.com: `max_tokens` is its only spelling, JSON mode is `json_object` alone. */
export const deepseek = openAiLike({
  id: 'deepseek',
  title: 'DeepSeek',
  prices: 'deepseek',
  baseUrl: 'https://api.deepseek.com',
  envKey: 'DEEPSEEK_API_KEY',
  // https://api-docs.deepseek.com/guides/anthropic_api
  paths: { messages: { fromOrigin: '/anthropic/v1/messages' } },
  // Its fill-in-the-middle.
  forwards: { completions: { fromOrigin: '/beta/completions' } },
  quirks: {
    history: inTurn(withSystemForDeveloper, withoutThoughtsAlone, withThoughtsBesideCalls),
    rename: { max_completion_tokens: 'max_tokens' },
    // "Thinking mode does not support this tool_choice".
    models: [{ pattern: /^deepseek-v[4-9]/, fitsInChat: [withoutThoughts(thinkingDisabled)] }],
    nativeN: false,
    seed: false,
    jsonSchema: false,
    fits: [jsonModeForSchema],
  },
  errors: [
    { status: 400, code: /model not exist/i, class: 'model_unavailable' },
    { status: 402, class: 'quota_exhausted' },
  ],
});
