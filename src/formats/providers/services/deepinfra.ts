import { kokoroVoices, unknownVoices } from '../../media/speech/voices.ts';
import { newImagesLikeOpenAi } from '../image-models.ts';
import { openAiEmbeddings, openAiLike, openAiSpeech, openAiTranscription } from '../openai-like.ts';
import { withCost } from '../reported-cost.ts';

/** https://deepinfra.com/docs/openai_api: usage ends every stream, unasked. */
export const deepinfra = openAiLike({
  id: 'deepinfra',
  title: 'DeepInfra',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  envKey: 'DEEPINFRA_TOKEN',
  forwards: { completions: '/completions' },
  embeds: { ...openAiEmbeddings, dimensions: 'asked' },
  images: newImagesLikeOpenAi,
  // https://docs.deepinfra.com/api-reference/audio/openai-audio-speech and openai-audio-transcriptions
  speech: {
    ...openAiSpeech,
    outputs: ['mp3', 'wav', 'opus', 'flac', 'pcm'],
    voices: [{ ...kokoroVoices, models: /kokoro/ }, unknownVoices],
    instructions: 'not taken',
  },
  transcription: openAiTranscription,
  // Its list of models is for everybody.
  paths: { key: { fromOrigin: '/v1/me' } },
  usageOf: withCost(({ estimated_cost: cost }) => cost),
  quirks: { rename: { max_completion_tokens: 'max_tokens' } },
});
