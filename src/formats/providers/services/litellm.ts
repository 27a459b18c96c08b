import { imagesLikeOpenAi } from '../image-models.ts';
import {
  openAiEmbeddings,
  openAiLike,
  openAiRealtime,
  openAiSpeech,
  openAiTranscription,
  openAiVideos,
} from '../openai-like.ts';

/** https://docs.litellm.ai/docs/supported_endpoints: a proxy of the operator's own, with every format at one address. */
export const litellm = openAiLike({
  id: 'litellm',
  title: 'LiteLLM',
  baseUrl: null,
  speaksToo: ['openai-responses', 'anthropic-messages'],
  forwards: { completions: '/completions', moderations: '/moderations', rerank: '/rerank' },
  // No `encoding`: behind many of its services it answers 400 to the field, which every SDK of OpenAI's sends.
  embeds: { ...openAiEmbeddings, dimensions: 'asked', takesUser: true },
  images: imagesLikeOpenAi,
  videos: openAiVideos,
  speech: openAiSpeech,
  transcription: openAiTranscription,
  realtime: openAiRealtime,
  quirks: { nativeN: false, functions: true },
});
