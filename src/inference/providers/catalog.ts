import type { DialectId } from '../dialects/dialect.ts';
import type { Provider } from './provider.ts';
import { a1111, sdServer } from './services/a1111.ts';
import { anthropic } from './services/anthropic.ts';
import { azureOpenAi } from './services/azure-openai.ts';
import { cohere } from './services/cohere.ts';
import { deepseek } from './services/deepseek.ts';
import { elevenLabs } from './services/elevenlabs.ts';
import { fireworks } from './services/fireworks.ts';
import { gemini } from './services/gemini.ts';
import { groq } from './services/groq.ts';
import { infinity } from './services/infinity.ts';
import { jina } from './services/jina.ts';
import { kokoro } from './services/kokoro.ts';
import { llamacpp } from './services/llamacpp.ts';
import { lmstudio } from './services/lmstudio.ts';
import { localai } from './services/localai.ts';
import { mistral } from './services/mistral.ts';
import { nvidia } from './services/nvidia.ts';
import { ollama } from './services/ollama.ts';
import { openai } from './services/openai.ts';
import { openrouter } from './services/openrouter.ts';
import { sglang } from './services/sglang.ts';
import { speaches } from './services/speaches.ts';
import { tei } from './services/tei.ts';
import { together } from './services/together.ts';
import { vllm } from './services/vllm.ts';
import { voyage } from './services/voyage.ts';
import { whispercpp } from './services/whispercpp.ts';
import { xai } from './services/xai.ts';

/** Every provider, in the order in which a start without a file offers them. */
export const catalog: readonly Provider[] = [
  openai,
  anthropic,
  azureOpenAi,
  gemini,
  groq,
  mistral,
  openrouter,
  deepseek,
  xai,
  together,
  fireworks,
  nvidia,
  cohere,
  jina,
  voyage,
  elevenLabs,
  ollama,
  lmstudio,
  llamacpp,
  whispercpp,
  vllm,
  sglang,
  localai,
  tei,
  infinity,
  kokoro,
  speaches,
  a1111,
  sdServer,
];

/** By a configuration's `type:`. */
export const providerTypes: ReadonlyMap<string, Provider> = new Map(catalog.map((provider) => [provider.id, provider]));

/** Providers whose key stands in the environment: what a start without a file configures. Empty values count as unset. */
export function providersInEnvironment(env: Readonly<Record<string, string | undefined>>): Provider[] {
  return catalog.filter((provider) => provider.envKey !== null && (env[provider.envKey] ?? '').trim() !== '');
}

/** What providers of a type can be asked in, should `dialects` of the configuration say so; none when they do not chat. */
export function carriedDialects({ dialect, chatPath, paths }: Provider): readonly DialectId[] {
  if (paths.chat === null && chatPath === undefined) return [];
  const beside = [paths.responses && 'openai-responses', paths.messages && 'anthropic-messages'] as const;
  return [...new Set([dialect, ...beside.filter((one) => Boolean(one))])] as DialectId[];
}
