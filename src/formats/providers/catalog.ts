import type { DialectId } from '../dialects/dialect.ts';
import type { Provider } from './provider.ts';
import { a1111, sdServer } from './services/a1111.ts';
import { ai21 } from './services/ai21.ts';
import { anthropic } from './services/anthropic.ts';
import { assemblyAi } from './services/assemblyai.ts';
import { azureOpenAi } from './services/azure-openai.ts';
import { bedrock } from './services/bedrock.ts';
import { cartesia } from './services/cartesia.ts';
import { cerebras } from './services/cerebras.ts';
import { cohere } from './services/cohere.ts';
import { culvert } from './services/culvert.ts';
import { dashscope } from './services/dashscope.ts';
import { deepgram } from './services/deepgram.ts';
import { deepinfra } from './services/deepinfra.ts';
import { deepseek } from './services/deepseek.ts';
import { elevenLabs } from './services/elevenlabs.ts';
import { fireworks } from './services/fireworks.ts';
import { fish } from './services/fish.ts';
import { gemini } from './services/gemini.ts';
import { groq } from './services/groq.ts';
import { infinity } from './services/infinity.ts';
import { jina } from './services/jina.ts';
import { kokoro } from './services/kokoro.ts';
import { litellm } from './services/litellm.ts';
import { llamacpp } from './services/llamacpp.ts';
import { lmstudio } from './services/lmstudio.ts';
import { localai } from './services/localai.ts';
import { minimax } from './services/minimax.ts';
import { mistral } from './services/mistral.ts';
import { mixedbread } from './services/mixedbread.ts';
import { moonshot } from './services/moonshot.ts';
import { novita } from './services/novita.ts';
import { nvidia } from './services/nvidia.ts';
import { ollama } from './services/ollama.ts';
import { openModelHosts } from './services/open-model-hosts.ts';
import { openai } from './services/openai.ts';
import { openrouter } from './services/openrouter.ts';
import { perplexity } from './services/perplexity.ts';
import { pictureServices } from './services/picture-services.ts';
import { sagemaker } from './services/sagemaker.ts';
import { sambanova } from './services/sambanova.ts';
import { sglang } from './services/sglang.ts';
import { speaches } from './services/speaches.ts';
import { tei } from './services/tei.ts';
import { together } from './services/together.ts';
import { vertex } from './services/vertex.ts';
import { vllm } from './services/vllm.ts';
import { voyage } from './services/voyage.ts';
import { whispercpp } from './services/whispercpp.ts';
import { writer } from './services/writer.ts';
import { xai } from './services/xai.ts';
import { zai } from './services/zai.ts';

/** Every provider, in the order in which a start without a file offers them. */
export const catalog: readonly Provider[] = [
  openai,
  anthropic,
  azureOpenAi,
  bedrock,
  sagemaker,
  gemini,
  vertex,
  groq,
  mistral,
  openrouter,
  deepseek,
  xai,
  together,
  fireworks,
  nvidia,
  cohere,
  cerebras,
  sambanova,
  perplexity,
  deepinfra,
  novita,
  moonshot,
  zai,
  minimax,
  dashscope,
  ai21,
  ...openModelHosts,
  writer,
  litellm,
  culvert,
  jina,
  voyage,
  mixedbread,
  elevenLabs,
  deepgram,
  assemblyAi,
  cartesia,
  fish,
  ...pictureServices,
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

/** Providers whose key is in the environment: a start without a file configures these. Empty values count as unset. */
export function providersInEnvironment(env: Readonly<Record<string, string | undefined>>): Provider[] {
  return catalog.filter((provider) => provider.envKey !== null && (env[provider.envKey] ?? '').trim() !== '');
}

/** Formats that providers of a type take, should `dialects` of the configuration say so; none when they do not chat. */
export function carriedDialects({ dialect, families = [], chatPath, paths }: Provider): readonly DialectId[] {
  if (paths.chat === null && chatPath === undefined) return [];
  const beside = [paths.responses && 'openai-responses', paths.messages && 'anthropic-messages'] as const;
  const ofFamilies = families.flatMap((family) => family.dialects);
  return [...new Set([dialect, ...beside.filter((one) => Boolean(one)), ...ofFamilies])] as DialectId[];
}
