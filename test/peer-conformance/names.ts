/** Providers by the names that both peers' tests put before a model (`openai/gpt-4o`), all of them simulated. */
function providers(upstream: string): Record<string, unknown> {
  const over = (type: string, path: string, names: readonly string[]) =>
    names.map((name) => [name, { type, base_url: `${upstream}${path}`, api_key: 'upstream-secret' }]);
  return Object.fromEntries([
    ...over('openai', '/v1', ['openai', 'azure', 'xai', 'bedrock']),
    ...over('anthropic', '/v1', ['anthropic']),
    ...over('gemini', '/v1beta', ['gemini', 'vertex']),
    ...over('cohere', '/compatibility/v1', ['cohere']),
  ]);
}

const openai: Readonly<Record<string, readonly string[]>> = {
  chat: [
    'gpt-3.5-turbo',
    'gpt-3.5-turbo-*',
    'gpt-4',
    'gpt-4-*',
    'gpt-4.1*',
    'gpt-4o',
    'gpt-4o-2*',
    'gpt-4o-mini',
    'gpt-5*',
    'o1',
    'o1-*',
    'o3',
    'o3-*',
  ],
  embedding: ['text-embedding-ada-002', 'text-embedding-3-*'],
  image: ['dall-e-2', 'dall-e-3', 'gpt-image-*'],
  speech: ['tts-*', 'gpt-4o-mini-tts', 'gpt-4o-mini-tts-*'],
  transcription: ['whisper*', 'gpt-4o-transcribe*', 'gpt-4o-mini-transcribe*'],
  moderation: ['text-moderation-*', 'omni-moderation-*'],
};
const gemini: Readonly<Record<string, readonly string[]>> = {
  chat: ['gemini-1*', 'gemini-2*', 'gemini-3*'],
  embedding: ['gemini-embedding-*'],
  image: ['imagen-*'],
};

/** Names of models by provider and type. Others are unknown: some tests ask for a model that is not there. */
const names: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  openai: { ...openai, chat: [...openai.chat!, 'fake-openai-endpoint', 'fake-openai-endpoint-*', 'llama*'] },
  azure: openai,
  xai: { chat: ['grok-*'] },
  bedrock: {
    chat: ['anthropic.*', 'us.*', 'global.anthropic.*', 'mistral.*', 'amazon.*'],
    embedding: ['global.cohere.*'],
  },
  anthropic: { chat: ['claude-*'] },
  gemini,
  vertex: gemini,
  cohere: { chat: ['command-*'], embedding: ['embed-*'], rerank: ['rerank-*'] },
};

/** The configuration's providers and models for peers' tests: `gpt-4o` and `openai/gpt-4o` are the same. */
export function namesOver(upstream: string): Record<string, unknown> {
  const models: Record<string, unknown> = {};
  for (const [provider, byType] of Object.entries(names)) {
    for (const [type, patterns] of Object.entries(byType)) {
      for (const name of patterns) {
        const model = { type, targets: [`${provider}/${name}`] };
        models[`${provider}/${name}`] = model;
        models[name] ??= model;
      }
    }
  }
  return { providers: providers(upstream), models };
}
