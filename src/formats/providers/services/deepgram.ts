import { isObject, type JsonValue, listIn, objectIn } from '../../../kernel/json.ts';
import { openAiLike } from '../openai-like.ts';
import type { DiscoveredModel, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';

/**
 * https://developers.deepgram.com/reference: transcripts by Nova, speech by Aura, whose voices are models; `aura-2` is
 * all of them, and `voice` picks one, such as `thalia-en`.
 */
export const deepgram: Provider = {
  ...openAiLike({
    id: 'deepgram',
    title: 'Deepgram',
    baseUrl: 'https://api.deepgram.com/v1',
    baseSuffixes: ['/listen', '/speak'],
    envKey: 'DEEPGRAM_API_KEY',
    auth: 'token',
    paths: { chat: null, responses: null, messages: null, models: '/models' },
    speech: {
      format: 'deepgram',
      path: '/speak',
      outputs: ['mp3', 'opus', 'flac', 'aac', 'wav', 'pcm'],
      voices: [
        {
          names: ['thalia-en', 'apollo-en', 'draco-en', 'zeus-en', 'andromeda-en', 'luna-en'],
          others: /^[a-z]+-[a-z]{2}$/,
          standard: {
            alloy: 'thalia-en',
            echo: 'apollo-en',
            fable: 'draco-en',
            onyx: 'zeus-en',
            nova: 'andromeda-en',
            shimmer: 'luna-en',
          },
        },
      ],
      speed: 'not taken',
      instructions: 'not taken',
    },
    transcription: {
      format: 'deepgram',
      paths: { transcribe: '/listen', translate: null },
      timestamps: 'words',
      diarizes: /./,
    },
    errors: [
      { status: 402, class: 'quota_exhausted' },
      // A voice is a model there, and a caller may name any: no reason to leave the key or the target alone.
      { status: 400, code: /no such model/i, class: 'caller_fault' },
      { status: 403, code: /\brequested model\b/i, class: 'caller_fault' },
    ],
  }),
  listModels,
};

/** `{stt: [{canonical_name}], tts: [{architecture}]}`; a voice is no separate model here. */
function listModels(body: unknown): DiscoveredModel[] {
  const { stt, tts } = objectIn(body);
  const transcriptionModels = namesIn(stt, 'canonical_name').map((id) => ({ id, type: 'transcription' as const }));
  const speechModels = namesIn(tts, 'architecture').map((id) => ({ id, type: 'speech' as const }));
  return [...transcriptionModels, ...speechModels].slice(0, listedModelsMax);
}

function namesIn(list: JsonValue | undefined, member: string): string[] {
  const names = listIn(list).map((row) => (isObject(row) ? row[member] : undefined));
  return [...new Set(names)].filter((name) => typeof name === 'string' && /^[\w.-]{1,100}$/.test(name)) as string[];
}
