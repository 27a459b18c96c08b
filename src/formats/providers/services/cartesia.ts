import { openAiLike, openAiTranscription } from '../openai-like.ts';

const first = '694f9389-aac1-45b6-b726-9d9369183238';
const second = 'a0e99841-438c-4a64-b679-ae501e7d6091';

/**
 * https://docs.cartesia.ai/api-reference/tts/bytes and …/stt/transcribe: voices go by ids; those for the standard names
 * are the two of its documentation. Transcripts come by OpenAI's form, without times.
 */
export const cartesia = openAiLike({
  id: 'cartesia',
  title: 'Cartesia',
  baseUrl: 'https://api.cartesia.ai',
  baseSuffixes: ['/tts/bytes', '/stt'],
  envKey: 'CARTESIA_API_KEY',
  headers: { 'cartesia-version': '2025-04-16' },
  paths: { chat: null, responses: null, messages: null, models: null },
  speech: {
    format: 'cartesia',
    path: '/tts/bytes',
    outputs: ['mp3', 'wav', 'pcm'],
    voices: [
      {
        names: [first, second],
        others: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
        standard: { alloy: first, echo: second, fable: first, onyx: second, nova: first, shimmer: first },
      },
    ],
    speed: 'not taken',
    instructions: 'not taken',
  },
  transcription: {
    ...openAiTranscription,
    paths: { transcribe: '/stt', translate: null },
    timestamps: 'none',
    containers: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'],
    omit: ['response_format', 'prompt', 'temperature', 'include[]'],
  },
});
