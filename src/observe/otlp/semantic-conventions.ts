/**
 * Every name that leaves by OTLP. `gen_ai.*` are OpenTelemetry's GenAI conventions, which are in development: a name that
 * moves there is changed here alone. `openinference.span.kind` is what Phoenix draws a span by; of the rest it converts
 * `gen_ai.*` itself, as Langfuse does. `culvert.*` are our own.
 */
export const names = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  errorType: 'error.type',
  userId: 'user.id',
  sessionId: 'session.id',
  url: 'url.full',
  database: 'db.system.name',

  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  outputType: 'gen_ai.output.type',
  conversationId: 'gen_ai.conversation.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  tokenType: 'gen_ai.token.type',
  /** Langfuse's attribute: USD of one call. */
  usageCost: 'gen_ai.usage.cost',

  /** OpenInference's, of Phoenix. */
  spanKind: 'openinference.span.kind',

  requestId: 'culvert.request.id',
  clientRequestId: 'culvert.client_request.id',
  account: 'culvert.account',
  keyId: 'culvert.key',
  endpoint: 'culvert.endpoint',
  model: 'culvert.model',
  target: 'culvert.target',
  class: 'culvert.class',
  units: 'culvert.units',
  costUsd: 'culvert.cost.usd',
  tag: 'culvert.tag',
  variant: 'culvert.variant',
  prompt: 'culvert.prompt',
  upstream: 'culvert.provider',
  credential: 'culvert.credential',
  attempt: 'culvert.attempt',
  hedge: 'culvert.hedge',
  usageSource: 'culvert.usage.source',
} as const;

export const metricNames = {
  duration: 'gen_ai.client.operation.duration',
  tokens: 'gen_ai.client.token.usage',
  firstChunk: 'gen_ai.client.operation.time_to_first_chunk',
} as const;

/** The buckets that the conventions ask for. */
export const metricBounds = {
  duration: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  tokens: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864],
  firstChunk: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
} as const;

/** An endpoint's kind: the conventions' operation, its output, and OpenInference's kind. */
export interface Operation {
  name: string;
  output: string | null;
  kind: 'LLM' | 'EMBEDDING' | 'RERANKER' | 'CHAIN';
}

const chat: Operation = { name: 'chat', output: null, kind: 'LLM' };
const embeddings: Operation = { name: 'embeddings', output: null, kind: 'EMBEDDING' };
const speech: Operation = { name: 'generate_content', output: 'speech', kind: 'LLM' };
const text: Operation = { name: 'generate_content', output: 'text', kind: 'LLM' };
const image: Operation = { name: 'generate_content', output: 'image', kind: 'LLM' };

const video: Operation = { name: 'generate_content', output: 'video', kind: 'LLM' };

const operations: Readonly<Record<string, Operation>> = {
  completions: { name: 'text_completion', output: null, kind: 'LLM' },
  fim: { name: 'text_completion', output: null, kind: 'LLM' },
  embeddings,
  rerank: { name: 'rerank', output: null, kind: 'RERANKER' },
  moderations: { name: 'moderation', output: null, kind: 'CHAIN' },
  speech,
  transcription: text,
  translation: text,
  image,
  'image-edit': image,
  'image-variation': image,
  video,
  'video-remix': video,
  ocr: text,
};

/** By the endpoint as the ledger names it. */
export function operationOf(endpoint: string): Operation {
  return operations[endpoint] ?? chat;
}

const providers: Readonly<Record<string, string>> = {
  'azure-openai': 'azure.ai.openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** The conventions' word for a provider of this type; where they have none, the type. */
export function providerOf(type: string): string {
  return providers[type] ?? type;
}

const finishes: Readonly<Record<string, string>> = {
  'stop-sequence': 'stop',
  'context-full': 'length',
  // Anthropic's and Google's own words.
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
  safety: 'content_filter',
};

/** Why an answer ended, in the words of the conventions, which are OpenAI's, as far as they have one. */
export function finishOf(reason: string): string {
  const word = reason.toLowerCase();
  return finishes[word] ?? word.replaceAll('-', '_');
}
