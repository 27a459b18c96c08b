import { openAiLike } from './openai-like.ts';

/** https://platform.openai.com/docs/api-reference */
export const openai = openAiLike({
  id: 'openai',
  title: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  envKey: 'OPENAI_API_KEY',
  speaksToo: ['openai-responses'],
  quirks: { omitConverted: ['top_k'] },
  forwards: { completions: '/completions', moderations: '/moderations' },
  forwardsElsewhere: { rerank: '/rerank' },
  errors: [
    // Said of the key's project: another target may have the model.
    { status: 403, code: /\bmodel\b/i, class: 'model_unavailable' },
    // A model that chats, asked to continue a text.
    { status: 404, code: /not supported in the v1\/completions/i, class: 'caller_fault' },
    // What the body refers to, told without a param.
    { status: 404, code: /\b(file|response|conversation)\b.{0,80}\bnot found/i, class: 'caller_fault' },
  ],
});
