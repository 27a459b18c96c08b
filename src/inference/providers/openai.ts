import { openAiLike } from './openai-like.ts';

/** https://platform.openai.com/docs/api-reference */
export const openai = openAiLike({
  id: 'openai',
  title: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  envKey: 'OPENAI_API_KEY',
  speaksToo: ['openai-responses'],
  errors: [
    // Said of the key's project: another target may have the model.
    { status: 403, code: /\bmodel\b/i, class: 'model_unavailable' },
    // What the body refers to, told without a param.
    { status: 404, code: /\b(file|response|conversation)\b.{0,80}\bnot found/i, class: 'caller_fault' },
  ],
});
