import { openAiLike } from '../openai-like.ts';

/** https://www.assemblyai.com/docs: transcripts alone, by models such as `universal-3-pro`; jobs are waited for. */
export const assemblyAi = openAiLike({
  id: 'assemblyai',
  title: 'AssemblyAI',
  baseUrl: 'https://api.assemblyai.com/v2',
  baseSuffixes: ['/upload', '/transcript'],
  envKey: 'ASSEMBLYAI_API_KEY',
  auth: 'authorization',
  paths: { chat: null, responses: null, messages: null, models: null },
  transcription: {
    format: 'assemblyai',
    paths: { transcribe: '/transcript', translate: null },
    timestamps: 'words',
    diarizes: /./,
  },
});
