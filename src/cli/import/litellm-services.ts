import type { ProviderConfig } from '../../config/schema.ts';

/** Meaning of LiteLLM's word before the first slash of a model. */
export interface Service {
  type: ProviderConfig['type'];
  /** Its address, for services without a type. */
  baseUrl?: string;
  /** Environment variable that LiteLLM takes its key from, where none is given. */
  envKey?: string;
  /** Nothing is sent there without a base URL of the file's. */
  needsBase?: true;
  /** Whose regions and credentials its parameters name. */
  cloud?: 'aws' | 'google' | 'azure';
  /** Prefix of its model ids, which is LiteLLM's alone. */
  routes?: RegExp;
  /** Ids behind the service's word that name what Culvert cannot ask. */
  others?: RegExp;
}

const azure: Service = {
  type: 'azure-openai',
  needsBase: true,
  cloud: 'azure',
  routes: /^(o_series|gpt5_series|eu|us|global|global-standard)\//,
  others: /^(agents|doc-intelligence|flux)\//i,
};

/** https://docs.litellm.ai/docs/providers/bedrock: a way to ask, or the family of an imported model, and a region. */
const bedrock: Service = {
  type: 'bedrock',
  cloud: 'aws',
  routes:
    /^((converse|invoke|converse_like|chat_completions|nova|nova-2)\/|(llama|deepseek_r1|qwen2|qwen3|openai)\/(?=arn:))/,
  others: /^(agent|agentcore|async_invoke|mantle|claude_platform)\//,
};

/** https://docs.litellm.ai/docs/providers/vertex: custom endpoints and agents are asked in other ways. */
const vertex: Service = {
  type: 'vertex',
  cloud: 'google',
  others: /^(openai|gemma|agent_engine|search_api|semantic-ranker|chirp)\b/,
};

/** Mistral's address for editors, which fills in the middle, too. */
const codestral: Service = { type: 'mistral', baseUrl: 'https://codestral.mistral.ai/v1', envKey: 'CODESTRAL_API_KEY' };

/** Services without a type that speak OpenAI's API: where they are, and the variable of their key. */
const likeOpenAi = Object.entries({
  github: ['https://models.inference.ai.azure.com', 'GITHUB_API_KEY'],
  gmi: ['https://api.gmi-serving.com/v1', 'GMI_API_KEY'],
  helicone: ['https://ai-gateway.helicone.ai', 'HELICONE_API_KEY'],
  lambda_ai: ['https://api.lambda.ai/v1', 'LAMBDA_API_KEY'],
  meta_llama: ['https://api.llama.com/compat/v1', 'LLAMA_API_KEY'],
  morph: ['https://api.morphllm.com/v1', 'MORPH_API_KEY'],
  'nano-gpt': ['https://nano-gpt.com/api/v1', 'NANOGPT_API_KEY'],
  nscale: ['https://inference.api.nscale.com/v1', 'NSCALE_API_KEY'],
  poe: ['https://api.poe.com/v1', 'POE_API_KEY'],
  v0: ['https://api.v0.dev/v1', 'V0_API_KEY'],
  veniceai: ['https://api.venice.ai/api/v1', 'VENICE_AI_API_KEY'],
  volcengine: ['https://ark.cn-beijing.volces.com/api/v3', 'VOLCENGINE_API_KEY'],
  wandb: ['https://api.inference.wandb.ai/v1', 'WANDB_API_KEY'],
} as const).map(([word, [baseUrl, envKey]]): [string, Service] => [word, { type: 'openai', baseUrl, envKey }]);

/** Words that are types here too, with the variable `WORD_API_KEY`. */
const likeOurs = `ai21 anthropic assemblyai baseten cerebras chutes cohere dashscope deepgram deepinfra deepseek
  elevenlabs gemini groq hyperbolic inception minimax mistral moonshot nebius novita openai openrouter
  ovhcloud recraft reka sambanova stability voyage xai zai`.split(/\s+/) as ProviderConfig['type'][];

/** https://docs.litellm.ai/docs/providers */
export const services: Readonly<Record<string, Service>> = {
  ...Object.fromEntries(likeOpenAi),
  ...Object.fromEntries(likeOurs.map((type) => [type, { type, envKey: `${type.toUpperCase()}_API_KEY` }])),
  'text-completion-openai': { type: 'openai', envKey: 'OPENAI_API_KEY' },
  azure: { ...azure, envKey: 'AZURE_API_KEY' },
  azure_text: { ...azure, envKey: 'AZURE_API_KEY' },
  azure_ai: { ...azure, envKey: 'AZURE_AI_API_KEY' },
  bedrock,
  bedrock_converse: bedrock,
  // Its other words for SageMaker mean formats of Hugging Face's older containers.
  sagemaker_chat: { type: 'sagemaker', cloud: 'aws' },
  vertex_ai: vertex,
  vertex_ai_beta: vertex,
  anthropic_text: { type: 'anthropic', envKey: 'ANTHROPIC_API_KEY' },
  codestral,
  'text-completion-codestral': codestral,
  together_ai: { type: 'together', envKey: 'TOGETHERAI_API_KEY' },
  fireworks_ai: { type: 'fireworks', envKey: 'FIREWORKS_API_KEY' },
  nvidia_nim: { type: 'nvidia', envKey: 'NVIDIA_NIM_API_KEY' },
  cohere_chat: { type: 'cohere', envKey: 'COHERE_API_KEY' },
  jina_ai: { type: 'jina', envKey: 'JINA_AI_API_KEY' },
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
  featherless_ai: { type: 'featherless', envKey: 'FEATHERLESS_AI_API_KEY' },
  'text-completion-inception': { type: 'inception', envKey: 'INCEPTION_API_KEY' },
  databricks: { type: 'databricks', envKey: 'DATABRICKS_API_KEY', needsBase: true },
  snowflake: { type: 'snowflake', envKey: 'SNOWFLAKE_JWT', needsBase: true },
  fal_ai: { type: 'fal', envKey: 'FAL_AI_API_KEY' },
  scaleway: { type: 'scaleway', envKey: 'SCW_SECRET_KEY' },
  black_forest_labs: { type: 'bfl', envKey: 'BFL_API_KEY' },
  ai21_chat: { type: 'ai21', envKey: 'AI21_API_KEY' },
  friendliai: { type: 'friendli', envKey: 'FRIENDLI_TOKEN' },
  huggingface: { type: 'huggingface', envKey: 'HF_TOKEN' },
  vercel_ai_gateway: { type: 'vercel', envKey: 'VERCEL_AI_GATEWAY_API_KEY' },
};

/** Models that LiteLLM knows without a word before them. */
const bare: readonly (readonly [pattern: RegExp, service: string])[] = [
  [/^(gpt-|chatgpt-|o\d|text-embedding-(?!00\d)|dall-e|whisper-|tts-|omni-moderation|ft:gpt-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(command|embed-(english|multilingual)|rerank-)/, 'cohere'],
  [/^(gemini-|text-embedding-00\d|text-multilingual-embedding-)/, 'vertex_ai'],
  [/^((us|eu|apac|jp|au|global|us-gov)\.)?(anthropic|amazon|meta|mistral|cohere|ai21|deepseek)\./, 'bedrock'],
];

/** `us-east-1/anthropic.claude…` of Bedrock, also behind a route → the region and the model's own id. */
export function modelOf({ type, cloud, routes }: Service, model: string): { model: string; region: string | null } {
  let bareModel = model;
  while (routes?.test(bareModel) === true) bareModel = bareModel.replace(routes, '');
  bareModel = bareModel.replace(/^(responses|chat)\//, '');
  const [, region, id] = (cloud === 'aws' && /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/.exec(bareModel)) || [];
  if (region !== undefined && id !== undefined) return { region, model: id };
  // The service behind Hugging Face's router comes first there, and last here.
  if (type === 'huggingface') return { region: null, model: bareModel.replace(/^([^/]+)\/([^/]+\/[^/]+)$/, '$2:$1') };
  // A tuned Gemini.
  return { region: null, model: cloud === 'google' ? bareModel.replace(/^gemini\/(?=\d+$)/, 'endpoints/') : bareModel };
}

/** `azure/gpt-4o-eu` → its service and the upstream model; the service may be one that is not in the table. */
export function serviceOf(model: string, customProvider: string | null): { service: string; model: string } | null {
  const slash = model.indexOf('/');
  const word = slash < 0 ? '' : model.slice(0, slash);
  if (customProvider !== null)
    return { service: customProvider, model: word === customProvider ? model.slice(slash + 1) : model };
  if (Object.hasOwn(services, word)) return { service: word, model: model.slice(slash + 1) };
  const known = slash < 0 ? bare.find(([pattern]) => pattern.test(model)) : undefined;
  if (known !== undefined) return { service: known[1], model };
  return slash < 0 ? null : { service: word, model: model.slice(slash + 1) };
}
