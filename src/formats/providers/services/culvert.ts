import { imagesLikeOpenAi } from '../image-models.ts';
import {
  openAiEmbeddings,
  openAiLike,
  openAiRealtime,
  openAiSpeech,
  openAiTranscription,
  openAiVideos,
} from '../openai-like.ts';

/** Another Culvert (docs/openapi.json): it converts and fans out itself, and its 429 says exactly when. */
export const culvert = openAiLike({
  id: 'culvert',
  title: 'Culvert',
  baseUrl: null,
  speaksToo: ['openai-responses', 'anthropic-messages'],
  forwards: {
    completions: '/completions',
    decisions: '/decisions',
    moderations: '/moderations',
    ocr: '/ocr',
    rerank: '/rerank',
  },
  embeds: {
    ...openAiEmbeddings,
    batch: 256,
    dimensions: 'asked',
    encoding: 'base64',
    takesTokens: true,
    takesUser: true,
  },
  images: imagesLikeOpenAi,
  videos: openAiVideos,
  speech: { ...openAiSpeech, voiceList: '/audio/voices' },
  transcription: openAiTranscription,
  realtime: { ...openAiRealtime, transcriptions: '/realtime?intent=transcription' },
  quirks: { functions: true },
});
