import { kokoroVoices, unknownVoices } from '../../media/speech/voices.ts';
import { openAiLike, openAiSpeech, openAiTranscription } from '../openai-like.ts';

/**
 * https://speaches.ai (once faster-whisper-server): Whisper, Kokoro and Piper behind OpenAI's audio API. Models are
 * loaded as they are asked for.
 */
export const speaches = openAiLike({
  id: 'speaches',
  title: 'speaches',
  baseUrl: 'http://127.0.0.1:8000/v1',
  baseSuffixes: ['/audio/speech', '/audio/transcriptions'],
  local: true,
  paths: { chat: null, responses: null },
  speech: {
    ...openAiSpeech,
    outputs: ['mp3', 'wav', 'flac', 'pcm'],
    voices: [{ ...kokoroVoices, models: /kokoro/ }, unknownVoices],
    instructions: 'not taken',
  },
  transcription: openAiTranscription,
});
