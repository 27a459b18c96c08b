import { openAiQuirks } from '../openai-like.ts';
import type { Provider } from '../provider.ts';

/** https://github.com/ggml-org/whisper.cpp/tree/master/examples/server: one model, and no list. */
export const whispercpp: Provider = {
  id: 'whispercpp',
  title: 'whisper.cpp',
  dialect: 'openai-chat',
  baseUrl: 'http://127.0.0.1:8080',
  baseSuffixes: ['/inference'],
  auth: 'bearer',
  envKey: null,
  local: true,
  paths: { chat: null, models: null },
  headers: {},
  quirks: openAiQuirks,
  errors: [],
  transcription: {
    format: 'whisper-cpp',
    paths: { transcribe: '/inference', translate: '/inference' },
    timestamps: 'words',
    // Older ones take wav of 16 kHz and nothing else.
    containers: [],
  },
};
