import type { DialectId } from '../dialects/dialect.ts';
import { a1111, sdServer } from './a1111.ts';
import { anthropic } from './anthropic.ts';
import { azureOpenAi } from './azure-openai.ts';
import { cohere } from './cohere.ts';
import { deepseek } from './deepseek.ts';
import { elevenLabs } from './elevenlabs.ts';
import { fireworks } from './fireworks.ts';
import { gemini } from './gemini.ts';
import { groq } from './groq.ts';
import { infinity } from './infinity.ts';
import { jina } from './jina.ts';
import { kokoro } from './kokoro.ts';
import { llamacpp } from './llamacpp.ts';
import { lmstudio } from './lmstudio.ts';
import { localai } from './localai.ts';
import { mistral } from './mistral.ts';
import { nvidia } from './nvidia.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openrouter } from './openrouter.ts';
import type { Provider } from './provider.ts';
import { sglang } from './sglang.ts';
import { speaches } from './speaches.ts';
import { tei } from './tei.ts';
import { together } from './together.ts';
import { vllm } from './vllm.ts';
import { voyage } from './voyage.ts';
import { whispercpp } from './whispercpp.ts';
import { xai } from './xai.ts';

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
