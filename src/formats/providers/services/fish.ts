import { openAiLike } from '../openai-like.ts';

/**
 * https://docs.fish.audio/api-reference: a voice is the id of a model of its library, and `default` is the service's own;
 * its list of models is one of voices, so nothing is discovered.
 */
export const fish = openAiLike({
  id: 'fish',
  title: 'Fish Audio',
  baseUrl: 'https://api.fish.audio/v1',
  baseSuffixes: ['/tts', '/asr'],
  envKey: 'FISH_API_KEY',
  paths: { chat: null, responses: null, messages: null, models: null },
  speech: {
    format: 'fish',
    path: '/tts',
    outputs: ['mp3', 'opus', 'wav', 'pcm'],
    voices: [
      {
        names: ['default'],
        others: /^[0-9a-f]{32}$/,
        standard: {
          alloy: 'default',
          echo: 'default',
          fable: 'default',
          onyx: 'default',
          nova: 'default',
          shimmer: 'default',
        },
      },
    ],
    speed: 'taken',
    instructions: 'not taken',
  },
  transcription: { format: 'fish', paths: { transcribe: '/asr', translate: null }, timestamps: 'segments' },
  errors: [{ status: 402, class: 'quota_exhausted' }],
});
