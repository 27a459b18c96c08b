import { unknownVoices } from '../../media/speech/voices.ts';
import { imagesOfLocalAi } from '../image-models.ts';
import { openAiEmbeddings, openAiLike, openAiSpeech, openAiTranscription } from '../openai-like.ts';

/** https://localai.io: OpenAI's API over whatever backends its operator installed. */
export const localai = openAiLike({
  id: 'localai',
  title: 'LocalAI',
  baseUrl: 'http://127.0.0.1:8080/v1',
  local: true,
  forwards: { completions: '/completions', rerank: '/rerank' },
  // It reads the messages of a chat in every body, and fetches what they name.
  embeds: { ...openAiEmbeddings, without: ['messages'] },
  images: imagesOfLocalAi,
  speech: { ...openAiSpeech, voices: [unknownVoices], speed: 'not taken', instructions: 'not taken' },
  transcription: openAiTranscription,
  quirks: { systemFirst: true, nativeN: false },
});
