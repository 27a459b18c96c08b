import { isObject } from '../../../kernel/json.ts';
import { openAiLike } from '../openai-like.ts';
import type { DiscoveredModel, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';

/** https://elevenlabs.io/docs: speech and transcripts. Its premade voices go by ids; any other of the account does too. */
export const elevenLabs: Provider = {
  ...openAiLike({
    id: 'elevenlabs',
    title: 'ElevenLabs',
    baseUrl: 'https://api.elevenlabs.io/v1',
    baseSuffixes: ['/text-to-speech', '/speech-to-text'],
    envKey: 'ELEVENLABS_API_KEY',
    auth: 'xi-api-key',
    paths: { chat: null, responses: null, models: '/models' },
    speech: {
      format: 'elevenlabs',
      path: '/text-to-speech',
      outputs: ['mp3', 'opus', 'pcm'],
      voices: [
        {
          names: [],
          others: /^[A-Za-z0-9]{20}$/,
          standard: {
            alloy: 'EXAVITQu4vr4xnSDxMaL',
            echo: 'nPczCjzI2devNBz1zQrb',
            fable: 'JBFqnCBsd6RMkjVDRZzb',
            onyx: 'pqHfZKP75CvOlQylNhV4',
            nova: 'cgSgspJ2msm6clMCkdW9',
            shimmer: 'XrExE9yKIg1WjnnlVkGX',
          },
        },
      ],
      speed: 'taken',
      instructions: 'not taken',
    },
    transcription: {
      format: 'elevenlabs',
      paths: { transcribe: '/speech-to-text', translate: null },
      timestamps: 'words',
      diarizes: /./,
    },
    errors: [
      { status: 401, code: /quota_exceeded/, class: 'quota_exhausted' },
      // It says so with 400 or 404.
      { code: /voice_not_found|voice_does_not_exist/, class: 'caller_fault' },
    ],
  }),
  listModels,
};

/** `[{model_id, can_do_text_to_speech}]`: those that speak; its models of transcripts are in no list. */
function listModels(body: unknown): DiscoveredModel[] {
  if (!Array.isArray(body)) return [];
  const speaking = body.slice(0, listedModelsMax).flatMap((row: unknown) => {
    const id = isObject(row) && row.can_do_text_to_speech === true ? row.model_id : undefined;
    return typeof id === 'string' && /^\w{1,100}$/.test(id) ? [{ id, type: 'speech' as const }] : [];
  });
  return [...speaking, ...['scribe_v2', 'scribe_v1'].map((id) => ({ id, type: 'transcription' as const }))];
}
