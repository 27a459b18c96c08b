import { schemaForJsonMode } from '../answer-forms.ts';
import { choiceInWords } from '../forced-calls.ts';
import { grammarSchemas } from '../grammar-schemas.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://lmstudio.ai/docs: its own list tells chat from embedding models and the context size, OpenAI's does not. */
export const lmstudio = openAiLike({
  id: 'lmstudio',
  title: 'LM Studio',
  baseUrl: 'http://127.0.0.1:1234/v1',
  local: true,
  paths: { originModels: '/api/v0/models' },
  forwards: { completions: '/completions' },
  embeds: openAiEmbeddings,
  quirks: {
    systemFirst: true,
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
    logprobs: false,
    fits: [grammarSchemas, schemaForJsonMode, choiceInWords],
  },
  tooLong: [
    /keep the first (?<sent>\d+) tokens when context.*?context length of only (?<most>\d+)/is,
    /tokens to keep from the initial prompt is greater than the context length/i,
  ],
  errors: [{ status: 400, code: /failed to load model|no models? loaded/i, class: 'model_unavailable' }],
});
