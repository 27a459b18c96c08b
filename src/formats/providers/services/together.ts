import { imagesOfTogether } from '../image-models.ts';
import { openAiEmbeddings, openAiLike, openAiSpeech, openAiTranscription } from '../openai-like.ts';

/** https://docs.together.ai/docs/openai-api-compatibility; `GET /models` is an array at the top level. */
export const together = openAiLike({
  id: 'together',
  title: 'Together AI',
  prices: 'together',
  baseUrl: 'https://api.together.ai/v1',
  envKey: 'TOGETHER_API_KEY',
  forwards: { completions: '/completions', rerank: '/rerank' },
  embeds: openAiEmbeddings,
  images: imagesOfTogether,
  // Its raw PCM goes by another name and rate: a wav says both itself.
  speech: { ...openAiSpeech, outputs: ['mp3', 'wav'], speed: 'not taken', instructions: 'not taken' },
  transcription: openAiTranscription,
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  tooLong: [/input token count \+ `?max_(?:new_)?tokens`?[^.]{0,40} must be (?:less|at most|<)/i],
  errors: [
    // Documented: 403 says that input and max_tokens together exceed the context.
    { status: 403, code: /token|context/i, class: 'too_long' },
    { status: 402, class: 'quota_exhausted' },
    { status: 400, code: /non-serverless model|unable to access model/i, class: 'model_unavailable' },
  ],
});
