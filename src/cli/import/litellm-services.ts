import type { ProviderConfig } from '../../config/schema.ts';

/** Meaning of LiteLLM's word before the first slash of a model. */
export interface Service {
  type: ProviderConfig['type'];
  /** Its address, for services that have no type of their own. */
  baseUrl?: string;
  /** Environment variable that LiteLLM takes its key from, where none is given. */
  envKey?: string;
  /** Nothing is sent there without a base URL of the file's. */
  needsBase?: true;
}

/** https://docs.litellm.ai/docs/providers */
export const services: Readonly<Record<string, Service>> = {
  openai: { type: 'openai', envKey: 'OPENAI_API_KEY' },
  'text-completion-openai': { type: 'openai', envKey: 'OPENAI_API_KEY' },
  azure: { type: 'azure-openai', envKey: 'AZURE_API_KEY', needsBase: true },
  azure_text: { type: 'azure-openai', envKey: 'AZURE_API_KEY', needsBase: true },
  anthropic: { type: 'anthropic', envKey: 'ANTHROPIC_API_KEY' },
  anthropic_text: { type: 'anthropic', envKey: 'ANTHROPIC_API_KEY' },
  gemini: { type: 'gemini', envKey: 'GEMINI_API_KEY' },
  groq: { type: 'groq', envKey: 'GROQ_API_KEY' },
  mistral: { type: 'mistral', envKey: 'MISTRAL_API_KEY' },
  openrouter: { type: 'openrouter', envKey: 'OPENROUTER_API_KEY' },
  deepseek: { type: 'deepseek', envKey: 'DEEPSEEK_API_KEY' },
  xai: { type: 'xai', envKey: 'XAI_API_KEY' },
  together_ai: { type: 'together', envKey: 'TOGETHERAI_API_KEY' },
  fireworks_ai: { type: 'fireworks', envKey: 'FIREWORKS_API_KEY' },
  nvidia_nim: { type: 'nvidia', envKey: 'NVIDIA_NIM_API_KEY' },
  cohere: { type: 'cohere', envKey: 'COHERE_API_KEY' },
  cohere_chat: { type: 'cohere', envKey: 'COHERE_API_KEY' },
  jina_ai: { type: 'jina', envKey: 'JINA_AI_API_KEY' },
  voyage: { type: 'voyage', envKey: 'VOYAGE_API_KEY' },
  elevenlabs: { type: 'elevenlabs', envKey: 'ELEVENLABS_API_KEY' },
  ollama: { type: 'ollama' },
  ollama_chat: { type: 'ollama' },
  lm_studio: { type: 'lmstudio' },
  hosted_vllm: { type: 'vllm', needsBase: true },
  infinity: { type: 'infinity', needsBase: true },
  llamafile: { type: 'openai', needsBase: true },
  openai_like: { type: 'openai', needsBase: true },
  custom_openai: { type: 'openai', needsBase: true },
  litellm_proxy: { type: 'litellm', needsBase: true },
  perplexity: { type: 'perplexity', envKey: 'PERPLEXITYAI_API_KEY' },
  deepinfra: { type: 'deepinfra', envKey: 'DEEPINFRA_API_KEY' },
  cerebras: { type: 'cerebras', envKey: 'CEREBRAS_API_KEY' },
  sambanova: { type: 'sambanova', envKey: 'SAMBANOVA_API_KEY' },
  moonshot: { type: 'moonshot', envKey: 'MOONSHOT_API_KEY' },
  baseten: { type: 'baseten', envKey: 'BASETEN_API_KEY' },
  nebius: { type: 'nebius', envKey: 'NEBIUS_API_KEY' },
  featherless_ai: { type: 'featherless', envKey: 'FEATHERLESS_AI_API_KEY' },
  inception: { type: 'inception', envKey: 'INCEPTION_API_KEY' },
  reka: { type: 'reka', envKey: 'REKA_API_KEY' },
  recraft: { type: 'recraft', envKey: 'RECRAFT_API_KEY' },
  scaleway: { type: 'scaleway', envKey: 'SCW_SECRET_KEY' },
  vercel_ai_gateway: { type: 'vercel', envKey: 'VERCEL_AI_GATEWAY_API_KEY' },
};

/** Models that LiteLLM knows without a word before them. */
const bare: readonly (readonly [pattern: RegExp, service: string])[] = [
  [/^(gpt-|chatgpt-|o\d|text-embedding-|dall-e|whisper-|tts-|omni-moderation|ft:gpt-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(command|embed-(english|multilingual)|rerank-)/, 'cohere'],
];

/** `azure/gpt-4o-eu` → its service and the upstream model; the service may be one that is not in the table. */
export function serviceOf(model: string, said: string | null): { service: string; model: string } | null {
  const slash = model.indexOf('/');
  const word = slash < 0 ? '' : model.slice(0, slash);
  if (said !== null) return { service: said, model: word === said ? model.slice(slash + 1) : model };
  if (Object.hasOwn(services, word)) return { service: word, model: model.slice(slash + 1) };
  const known = slash < 0 ? bare.find(([pattern]) => pattern.test(model)) : undefined;
  if (known !== undefined) return { service: known[1], model };
  return slash < 0 ? null : { service: word, model: model.slice(slash + 1) };
}
