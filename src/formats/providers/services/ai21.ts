import { jsonModeForSchema } from '../answer-forms.ts';
import { openAiLike } from '../openai-like.ts';

/** https://docs.ai21.com/reference/jamba-1-6-api-ref: `max_tokens` is its spelling, JSON mode is `json_object` alone. */
export const ai21 = openAiLike({
  id: 'ai21',
  title: 'AI21 Labs',
  baseUrl: 'https://api.ai21.com/studio/v1',
  envKey: 'AI21_API_KEY',
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, jsonSchema: false, fits: [jsonModeForSchema] },
});
