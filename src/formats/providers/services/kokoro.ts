import { kokoroVoices } from '../../media/speech/voices.ts';
import { openAiLike, openAiSpeech } from '../openai-like.ts';

/** https://github.com/remsky/Kokoro-FastAPI: OpenAI's speech, with Kokoro's voices and blends of them. */
export const kokoro = openAiLike({
  id: 'kokoro',
  title: 'Kokoro-FastAPI',
  baseUrl: 'http://127.0.0.1:8880/v1',
  baseSuffixes: ['/audio/speech'],
  local: true,
  paths: { chat: null, responses: null },
  speech: { ...openAiSpeech, voices: [kokoroVoices], voiceList: '/audio/voices', instructions: 'not taken' },
});
