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
  quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false, logprobs: false, jsonObject: false },
  errors: [
    { status: 400, code: /failed to load model|no models? loaded|model .*not found/i, class: 'model_unavailable' },
  ],
});
