import { type CallerId, callerIds } from './formats.ts';

/** Features that every format can ask for. */
const common = {
  text: 'text',
  system: 'instructions (system prompt)',
  tools: 'a tool call and its result',
  'parallel-tools': 'parallel tool calls',
  'text-and-call': 'text before a tool call',
  'no-arguments': 'a tool without parameters',
  'tool-choice': 'a tool demanded by name',
  images: 'images, inline',
  'images-by-url': 'images by URL',
  documents: 'documents (PDF), inline',
  thinking: 'thinking, asked for',
  'thinking-unasked': 'thinking aloud, not asked for',
  'thinking-tools': 'thinking and tools, over turns',
  'structured-output': 'structured output (JSON Schema)',
  'stop-length': 'stop: token limit',
  'stop-filter': 'stop: held back by the provider',
  'unknown-field': 'a field that nobody here knows',
  usage: 'usage, cached tokens too',
  errors: 'errors of the provider',
  'error-midway': 'an error within the answer',
  cut: 'an answer that is cut',
} as const;

/** What some formats cannot say: which can. */
const beyond = {
  'one-call': {
    title: 'at most one call an answer',
    callers: ['openai-chat', 'anthropic-messages', 'openai-responses'],
  },
  'end-user': {
    title: 'the end user (`user`, `metadata.user_id`)',
    callers: ['openai-chat', 'anthropic-messages', 'openai-responses'],
  },
  'stop-string': { title: 'stop: a stop string', callers: ['openai-chat', 'anthropic-messages', 'gemini'] },
  'narrowed-schema': {
    title: 'structured output with bounds (`minimum`)',
    callers: ['openai-chat', 'openai-responses', 'gemini'],
  },
  'several-choices': { title: 'several choices (`n`, `candidateCount`)', callers: ['openai-chat', 'gemini'] },
  logprobs: { title: 'log probabilities', callers: ['openai-chat', 'openai-responses', 'gemini'] },
  seed: { title: '`seed`', callers: ['openai-chat', 'gemini'] },
  audio: { title: 'audio as input', callers: ['openai-chat', 'gemini'] },
  'cache-marks': { title: '`cache_control`', callers: ['anthropic-messages'] },
  'server-tools': {
    title: 'tools that the provider runs itself (web search)',
    callers: ['anthropic-messages', 'gemini', 'openai-responses'],
  },
  'custom-tools': { title: '`custom` tools', callers: ['openai-responses'] },
  'kept-history': { title: '`previous_response_id`', callers: ['openai-responses'] },
} as const satisfies Record<string, { title: string; callers: readonly CallerId[] }>;

export type CommonId = keyof typeof common;
export type BeyondId = keyof typeof beyond;
export type FeatureId = CommonId | BeyondId;

export interface Feature {
  id: FeatureId;
  title: string;
  /** Formats that can ask for it. */
  callers: readonly CallerId[];
}

/** The lines of the table in docs/dialects.md. */
export const features: readonly Feature[] = [
  ...Object.entries(common).map(([id, title]) => ({ id: id as CommonId, title, callers: callerIds })),
  ...Object.entries(beyond).map(([id, feature]) => ({ id: id as BeyondId, ...feature })),
];
