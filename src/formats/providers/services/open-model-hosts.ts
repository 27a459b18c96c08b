import { unknownVoices, type VoiceFacts } from '../../media/speech/voices.ts';
import {
  type OpenAiLikeFacts,
  openAiEmbeddings,
  openAiLike,
  openAiSpeech,
  openAiTranscription,
} from '../openai-like.ts';
import type { Provider } from '../provider.ts';

/** The voices of one of SiliconFlow's models. */
function voicesAt(model: string, models: RegExp): VoiceFacts {
  const at = (name: string) => `${model}:${name}`;
  const names = ['alex', 'anna', 'bella', 'benjamin', 'charles', 'claire', 'david', 'diana'].map(at);
  const [alloy, echo, fable] = [at('anna'), at('alex'), at('charles')];
  const standard = { alloy, echo, fable, onyx: at('benjamin'), nova: at('bella'), shimmer: at('claire') };
  return { models, names, others: 'any', standard };
}

/** Services that answer in OpenAI's format with models of many makers, in the order of the catalog. */
const facts: readonly OpenAiLikeFacts[] = [
  // https://docs.siliconflow.cn/docs/api/chat-completions-post and messages-post: both formats at one base URL. China's
  // platform is `https://api.siliconflow.cn/v1`, with other keys.
  {
    id: 'siliconflow',
    title: 'SiliconFlow',
    baseUrl: 'https://api.siliconflow.com/v1',
    envKey: 'SILICONFLOW_API_KEY',
    speaksToo: ['anthropic-messages'],
    paths: { responses: null },
    forwards: { rerank: '/rerank' },
    embeds: { ...openAiEmbeddings, batch: 32, dimensions: 'asked' },
    // https://docs.siliconflow.com/en/api-reference/audio/create-speech and create-audio-transcriptions: voices are named
    // with their model, and a transcript is a text alone.
    speech: {
      ...openAiSpeech,
      outputs: ['mp3', 'wav', 'opus'],
      voices: [
        voicesAt('FunAudioLLM/CosyVoice2-0.5B', /cosyvoice2/),
        voicesAt('fishaudio/fish-speech-1.5', /fish-speech-1\.5/),
        unknownVoices,
      ],
      instructions: 'not taken',
    },
    transcription: {
      ...openAiTranscription,
      paths: { transcribe: '/audio/transcriptions', translate: null },
      timestamps: 'none',
      omit: ['response_format', 'language', 'prompt', 'temperature', 'include[]'],
    },
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://docs.baseten.co/reference/inference-api/chat-completions: Model APIs. A deployment has a separate address.
  { id: 'baseten', title: 'Baseten', baseUrl: 'https://inference.baseten.co/v1', envKey: 'BASETEN_API_KEY' },
  // https://docs.hyperbolic.ai/inference/chat-completion: OpenAI's format. Nothing else is documented to differ.
  {
    id: 'hyperbolic',
    title: 'Hyperbolic',
    baseUrl: 'https://api.hyperbolic.xyz/v1',
    envKey: 'HYPERBOLIC_API_KEY',
    forwards: { completions: '/completions' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://docs.tokenfactory.nebius.com/api-reference/introduction: formerly Nebius AI Studio, at another address.
  {
    id: 'nebius',
    title: 'Nebius Token Factory',
    baseUrl: 'https://api.tokenfactory.nebius.com/v1',
    envKey: 'NEBIUS_API_KEY',
    forwards: { completions: '/completions' },
    embeds: openAiEmbeddings,
  },
  // https://huggingface.co/docs/inference-providers: a router to other services, which `model:provider` picks; also in
  // the Responses format and in Anthropic's. The token in the environment as HF_TOKEN is mostly there for downloads, so
  // it alone configures nothing.
  {
    id: 'huggingface',
    title: 'Hugging Face',
    baseUrl: 'https://router.huggingface.co/v1',
    speaksToo: ['openai-responses', 'anthropic-messages'],
    tooLong: [
      // Text Generation Inference.
      /`inputs`.{0,40}must (?:be <=|have less than) (?<most>\d+)(?: tokens)?\. Given: (?<sent>\d+)/i,
    ],
    // https://huggingface.co/docs/hub/api: the list of the router is for everybody.
    paths: { key: { origin: 'https://huggingface.co', path: '/api/whoami-v2' } },
    quirks: { systemFirst: true, rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
  },
  // https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility: the account is in the base URL,
  // `https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1`. There is no list of models in OpenAI's format.
  {
    id: 'cloudflare',
    title: 'Cloudflare Workers AI',
    baseUrl: null,
    paths: { messages: null, models: null },
    embeds: { ...openAiEmbeddings, batch: 100 },
    quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
  },
  // https://vercel.com/docs/ai-gateway/sdks-and-apis: models of many vendors as `vendor/model`, in OpenAI's two formats
  // and in Anthropic's.
  {
    id: 'vercel',
    title: 'Vercel AI Gateway',
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    envKey: 'AI_GATEWAY_API_KEY',
    speaksToo: ['openai-responses', 'anthropic-messages'],
    // https://vercel.com/docs/ai-gateway/usage: its list is for everybody.
    paths: { key: '/credits' },
    embeds: { ...openAiEmbeddings, dimensions: 'asked' },
    quirks: { nativeN: false },
  },
  // https://learn.microsoft.com/azure/databricks/machine-learning/foundation-model-apis/api-reference: serving
  // endpoints of a workspace, `https://WORKSPACE/serving-endpoints`. A model is the name of an endpoint, so nothing is
  // discovered.
  {
    id: 'databricks',
    title: 'Databricks',
    baseUrl: null,
    paths: { models: null, messages: null },
    forwards: { completions: '/completions' },
    embeds: { ...openAiEmbeddings, dimensions: 'asked' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api: the account is in the base URL,
  // `https://ACCOUNT.snowflakecomputing.com/api/v2/cortex/v1`; the key is a programmatic access token. Anthropic's
  // format is there for Claude's models alone.
  {
    id: 'snowflake',
    title: 'Snowflake Cortex',
    baseUrl: null,
    families: [{ pattern: /^claude-/, dialects: ['anthropic-messages', 'openai-chat'] }],
    paths: { models: null, responses: null },
  },
  // https://www.ibm.com/docs/en/watsonx/saas?topic=generation-inferencing-gateway-models: the model gateway of a
  // region, `https://us-south.ml.cloud.ibm.com/ml/gateway/v1`. An API key of IBM Cloud is exchanged for tokens.
  {
    id: 'watsonx',
    title: 'IBM watsonx.ai',
    baseUrl: null,
    auth: 'ibm-iam',
    paths: { responses: null, messages: null },
    forwards: { completions: '/completions' },
    embeds: openAiEmbeddings,
    tooLong: [/number of input tokens (?<sent>\d+) cannot exceed the total tokens limit (?<most>\d+)/i],
  },
  // https://friendli.ai/docs/guides/serverless_endpoints: its serverless endpoints; dedicated ones have another base
  // URL.
  {
    id: 'friendli',
    title: 'FriendliAI',
    baseUrl: 'https://api.friendli.ai/serverless/v1',
    envKey: 'FRIENDLI_TOKEN',
    forwards: { completions: '/completions' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://endpoints.ai.cloud.ovh.net: OpenAI's format; without a key it answers too, with low limits.
  {
    id: 'ovhcloud',
    title: 'OVHcloud AI Endpoints',
    baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
    envKey: 'OVH_AI_ENDPOINTS_ACCESS_TOKEN',
    embeds: openAiEmbeddings,
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://www.scaleway.com/en/docs/generative-apis/api-cli/using-chat-api and understanding-errors: a model that is
  // not there is a 422. Its key is one for everything at Scaleway, so the environment's alone configures nothing.
  {
    id: 'scaleway',
    title: 'Scaleway',
    baseUrl: 'https://api.scaleway.ai/v1',
    embeds: openAiEmbeddings,
    transcription: openAiTranscription,
    quirks: {
      omit: ['frequency_penalty', 'top_logprobs'],
      rename: { max_completion_tokens: 'max_tokens' },
      nativeN: false,
    },
    errors: [{ status: 422, code: /model.*not found/i, class: 'model_unavailable' }],
  },
  // https://featherless.ai/docs/api: any open model of Hugging Face by its id. Its list has tens of thousands of them,
  // so none is discovered; a 429 says that the plan's connections are all in use.
  {
    id: 'featherless',
    title: 'Featherless AI',
    baseUrl: 'https://api.featherless.ai/v1',
    envKey: 'FEATHERLESS_API_KEY',
    paths: { models: null },
    forwards: { completions: '/completions' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
  },
  // https://chutes.ai/agents/connect: OpenAI's format, by a bearer token alone; its list says what each model can do.
  {
    id: 'chutes',
    title: 'Chutes',
    baseUrl: 'https://llm.chutes.ai/v1',
    envKey: 'CHUTES_API_KEY',
    paths: { key: null },
    quirks: { rename: { max_completion_tokens: 'max_tokens' } },
  },
  // https://docs.inceptionlabs.ai: Mercury, which writes all of an answer at once; OpenAI's format.
  {
    id: 'inception',
    title: 'Inception',
    baseUrl: 'https://api.inceptionlabs.ai/v1',
    envKey: 'INCEPTION_API_KEY',
    // https://docs.inceptionlabs.ai/get-started/models
    forwards: { fim: '/fim/completions' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
  },
  // https://docs.reka.ai/chat/api-reference: its own and open models, in OpenAI's two formats and in Anthropic's.
  {
    id: 'reka',
    title: 'Reka',
    baseUrl: 'https://api.reka.ai/v1',
    envKey: 'REKA_API_KEY',
    speaksToo: ['openai-responses', 'anthropic-messages'],
    quirks: { nativeN: false },
  },
  // https://console.upstage.ai/docs: Solar. Queries and passages have a model each for their embeddings.
  {
    id: 'upstage',
    title: 'Upstage',
    baseUrl: 'https://api.upstage.ai/v1',
    envKey: 'UPSTAGE_API_KEY',
    embeds: { ...openAiEmbeddings, inputType: 'refused' },
    quirks: { rename: { max_completion_tokens: 'max_tokens' }, nativeN: false },
  },
];

export const openModelHosts: readonly Provider[] = facts.map(openAiLike);
