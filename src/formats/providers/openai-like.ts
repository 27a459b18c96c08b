import type { EmbeddingFacts } from '../embeddings/format.ts';
import type { SpeechFacts } from '../media/speech/format.ts';
import { unknownVoices } from '../media/speech/voices.ts';
import type { TranscriptionFacts } from '../media/transcription/format.ts';
import type { VideoFacts } from '../media/videos/format.ts';
import { schemaOfTgi } from './answer-forms.ts';
import { choiceWithoutSome } from './forced-calls.ts';
import type { BatchFacts, Provider, ProviderPaths, ProviderQuirks, RealtimeFacts } from './provider.ts';

/** Quirks of the OpenAI API itself: nothing omitted, nothing renamed, everything supported. */
export const openAiQuirks: ProviderQuirks = {
  omit: [],
  rename: {},
  streamUsage: true,
  nativeN: true,
  logprobs: true,
  seed: true,
  jsonSchema: true,
};

/** Members of chats that OpenAI added and that change no answer elsewhere: strict services return 400 for them. */
export const hintsForOpenAi: readonly string[] =
  'store verbosity safety_identifier prompt_cache_retention prompt_cache_options moderation'.split(' ');

/** Words of Mistral's format that no other service knows. */
export const wordsOfMistral: readonly string[] = ['safe_prompt', 'prompt_mode', 'guardrails'];

/** Services that take a choice among some tools (`allowed_tools`), or may pass it on to one that does. */
const takesSomeTools = 'openai azure-openai culvert litellm openrouter vercel'.split(' ');

/** Services that may be TGI, or pass its form of a schema on to it. */
const mayTakeTgi = 'openai culvert huggingface'.split(' ');

type Always = 'id' | 'title' | 'baseUrl';

export interface OpenAiLikeFacts
  extends Pick<Provider, Always>,
    Partial<Omit<Provider, Always | 'dialect' | 'envKey' | 'local' | 'paths' | 'quirks'>> {
  envKey?: string;
  local?: true;
  paths?: Partial<ProviderPaths>;
  /** Only differences from OpenAI. */
  quirks?: Partial<ProviderQuirks>;
}

/** `/embeddings` as servers that took over OpenAI's API have it: texts, and floats back. */
export const openAiEmbeddings: EmbeddingFacts = {
  format: 'openai',
  path: '/embeddings',
  batch: 64,
  takesTokens: false,
  dimensions: 'never',
};

/** `/batches` as servers that took over OpenAI's API have it, for requests to these paths. */
export function openAiBatches(...paths: readonly string[]): BatchFacts {
  return {
    format: 'openai',
    urlOf: (path) => (paths.includes(path) ? `/v1${path}` : null),
    linesMax: 50_000,
    bytesMax: 200_000_000,
    priceShare: 0.5,
  };
}

/** `/videos` as servers that took over OpenAI's API have it; which models make videos, nobody here knows. */
export const openAiVideos: VideoFacts = { format: 'openai', models: /./, pathOf: () => '/videos' };

/** `/audio/speech` as servers that took over OpenAI's API have it, with other voices. */
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
  untimed: /gpt-(\w+-)*transcribe/,
  streams: /gpt-(\w+-)*transcribe/,
  diarizes: /diari[sz]/,
  chunked: /gpt-\w+-transcribe-diarize/,
};

/** `/realtime` as OpenAI has it. */
export const openAiRealtime: RealtimeFacts = {
  format: 'openai',
  pathOf: (model) => `/realtime?model=${encodeURIComponent(model)}`,
  calls: { path: '/realtime/calls', socket: '/realtime' },
};

/** A provider that speaks OpenAI's chat completions: the file that calls this states only what differs. */
export function openAiLike(facts: OpenAiLikeFacts): Provider {
  const { envKey = null, local = false, auth = 'bearer', headers = {}, errors = [], paths, quirks, ...stated } = facts;
  const { fits = [] } = quirks ?? {};
  const ofAll = [
    ...(takesSomeTools.includes(stated.id) ? [] : [choiceWithoutSome]),
    ...(mayTakeTgi.includes(stated.id) ? [] : [schemaOfTgi]),
  ];
  return {
    dialect: 'openai-chat',
    baseSuffixes: ['/chat/completions', '/responses'],
    ...stated,
    auth,
    envKey,
    local,
    paths: { chat: '/chat/completions', responses: '/responses', messages: '/messages', models: '/models', ...paths },
    headers,
    quirks: { ...openAiQuirks, ...quirks, ...(ofAll.length > 0 && { fits: [...ofAll, ...fits] }) },
    errors,
  };
}
