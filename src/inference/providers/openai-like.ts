import type { EmbeddingFacts } from '../dialects/embeddings/format.ts';
import type { ImageFacts } from '../dialects/images/format.ts';
import type { SpeechFacts } from '../dialects/speech/format.ts';
import { unknownVoices } from '../dialects/speech/voices.ts';
import type { TranscriptionFacts } from '../dialects/transcription/format.ts';
import type { ErrorRule, ForwardPaths, Provider, ProviderAuth, ProviderPaths, ProviderQuirks } from './provider.ts';

/** What the OpenAI API itself takes: nothing omitted, nothing renamed, everything supported. */
export const openAiQuirks: ProviderQuirks = {
  omit: [],
  rename: {},
  streamUsage: true,
  nativeN: true,
  logprobs: true,
  seed: true,
  jsonSchema: true,
  jsonObject: true,
};

export interface OpenAiLikeFacts {
  id: string;
  title: string;
  baseUrl: string | null;
  baseSuffixes?: readonly string[];
  envKey?: string;
  local?: true;
  auth?: ProviderAuth;
  paths?: Partial<ProviderPaths>;
  forwards?: ForwardPaths;
  forwardsElsewhere?: ForwardPaths;
  embeds?: EmbeddingFacts;
  embedsElsewhere?: Partial<EmbeddingFacts>;
  images?: ImageFacts;
  imagesElsewhere?: ImageFacts;
  speech?: SpeechFacts;
  speechElsewhere?: Partial<SpeechFacts>;
  transcription?: TranscriptionFacts;
  transcriptionElsewhere?: TranscriptionFacts;
  headers?: Readonly<Record<string, string>>;
  /** Only where it differs from OpenAI. */
  quirks?: Partial<ProviderQuirks>;
  errors?: readonly ErrorRule[];
  chatPath?: NonNullable<Provider['chatPath']>;
  speaksToo?: Provider['speaksToo'];
}

/** `/embeddings` as servers that took over OpenAI's API have it: texts, and floats back. */
export const openAiEmbeddings: EmbeddingFacts = {
  format: 'openai',
  path: '/embeddings',
  batch: 64,
  takesTokens: false,
  dimensions: 'never',
};

/** `/audio/speech` as servers that took over OpenAI's API have it, with voices of their own. */
export const openAiSpeech: SpeechFacts = {
  format: 'openai',
  path: '/audio/speech',
  outputs: ['mp3', 'wav', 'opus', 'flac', 'pcm', 'aac'],
  voices: [unknownVoices],
  speed: 'taken',
  instructions: 'taken',
};

/** `/audio/transcriptions` as servers that took over OpenAI's API have it: Whisper, mostly. */
export const openAiTranscription: TranscriptionFacts = {
  format: 'openai',
  paths: { transcribe: '/audio/transcriptions', translate: '/audio/translations' },
  timestamps: 'words',
  // OpenAI's own models, by whatever server they come: text alone, in events if wanted.
  untimed: /gpt-\w+-(mini-)?transcribe/,
  streams: /gpt-\w+-(mini-)?transcribe/,
};

/** A provider that speaks OpenAI's chat completions: the file that calls this states only what differs. */
export function openAiLike(facts: OpenAiLikeFacts): Provider {
  return {
    id: facts.id,
    title: facts.title,
    dialect: 'openai-chat',
    baseUrl: facts.baseUrl,
    baseSuffixes: facts.baseSuffixes ?? ['/chat/completions', '/responses'],
    auth: facts.auth ?? 'bearer',
    envKey: facts.envKey ?? null,
    local: facts.local ?? false,
    paths: {
      chat: '/chat/completions',
      responses: '/responses',
      messages: '/messages',
      models: '/models',
      ...facts.paths,
    },
    ...(facts.forwards === undefined ? {} : { forwards: facts.forwards }),
    ...(facts.forwardsElsewhere === undefined ? {} : { forwardsElsewhere: facts.forwardsElsewhere }),
    ...(facts.embeds === undefined ? {} : { embeds: facts.embeds }),
    ...(facts.embedsElsewhere === undefined ? {} : { embedsElsewhere: facts.embedsElsewhere }),
    ...(facts.images === undefined ? {} : { images: facts.images }),
    ...(facts.imagesElsewhere === undefined ? {} : { imagesElsewhere: facts.imagesElsewhere }),
    ...(facts.speech === undefined ? {} : { speech: facts.speech }),
    ...(facts.speechElsewhere === undefined ? {} : { speechElsewhere: facts.speechElsewhere }),
    ...(facts.transcription === undefined ? {} : { transcription: facts.transcription }),
    ...(facts.transcriptionElsewhere === undefined ? {} : { transcriptionElsewhere: facts.transcriptionElsewhere }),
    headers: facts.headers ?? {},
    quirks: { ...openAiQuirks, ...facts.quirks },
    errors: facts.errors ?? [],
    ...(facts.speaksToo === undefined ? {} : { speaksToo: facts.speaksToo }),
    ...(facts.chatPath === undefined ? {} : { chatPath: facts.chatPath }),
  };
}
