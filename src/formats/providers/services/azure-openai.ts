import { isObject } from '../../../kernel/json.ts';
import { azurePath, isV1 } from '../azure-path.ts';
import { flatSchemas } from '../flat-schemas.ts';
import { imagesOfAzure } from '../image-models.ts';
import {
  openAiBatches,
  openAiEmbeddings,
  openAiLike,
  openAiSpeech,
  openAiTranscription,
  openAiVideos,
} from '../openai-like.ts';
import { modelsOfOpenAi, stopByResponses } from '../openai-models.ts';
import { claudeCaching } from '../prompt-caching.ts';
import type { DiscoveredModel } from '../provider.ts';
import { readModelList } from '../read-model-list.ts';

/**
 * https://learn.microsoft.com/azure/ai-foundry/openai/latest, and …/foundry-models/how-to/use-foundry-models-claude. What
 * callers name as the upstream model is the deployment. `/openai/v1/models` lists what could be deployed, not what is. An
 * older preview lists deployments, where the resource still has it and the key may see it. Claude is asked at its native
 * endpoint, which takes Azure's own header too; other models of Foundry (DeepSeek, Grok, Llama, Mistral…) by the v1 API.
 */
export const azureOpenAi = openAiLike({
  id: 'azure-openai',
  title: 'Azure OpenAI and AI Foundry',
  // A deployment has a price if it is named for its model.
  prices: 'azure',
  baseUrl: null,
  baseSuffixes: (
    '/openai/v1/chat/completions /openai/v1/responses /openai/v1 /openai /anthropic/v1/messages ' +
    '/anthropic/v1 /anthropic /models/chat/completions /models'
  ).split(' '),
  // Anthropic's models keep the names of their vendor, unless the deployment was renamed.
  families: [{ pattern: /^claude-/, dialects: ['anthropic-messages'] }],
  auth: 'api-key',
  tokens: { id: 'entra', hosts: /\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/ },
  keepsResponses: true,
  // "Function tools with reasoning_effort are not supported … in /v1/chat/completions", also where nobody sets it.
  toolsByResponses: /^gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)/,
  stopByResponses,
  quirks: { fits: [flatSchemas], omitConverted: ['top_k'], models: modelsOfOpenAi },
  paths: {
    models: '/openai/deployments?api-version=2023-03-15-preview',
    mayRefuseModels: true,
    responses: '/openai/v1/responses',
    messages: '/anthropic/v1/messages',
  },
  listModels: deployments,
  // Deployments of other models refuse `prompt_cache_key`, and a deployment's name does not say its model.
  promptCaching: claudeCaching,
  // https://learn.microsoft.com/rest/api/aifoundry/model-inference/get-image-embeddings
  forwards: { 'image-embeddings': { fromOrigin: '/models/images/embeddings?api-version=2024-05-01-preview' } },
  embeds: {
    ...openAiEmbeddings,
    batch: 2_048,
    batchTokens: 150_000,
    takesTokens: true,
    inputType: 'refused',
    // A deployment may have any name.
    dimensions: 'asked',
    encoding: 'base64',
    takesUser: true,
    pathOf: (model, options) => azurePath(model, '/embeddings', options),
  },
  // A deployment may have any name, so its voices are not known by it.
  speech: { ...openAiSpeech, pathOf: (model, options) => azurePath(model, '/audio/speech', options) },
  transcription: {
    ...openAiTranscription,
    containers: ['flac', 'mp3', 'mp4', 'm4a', 'ogg', 'oga', 'opus', 'wav', 'webm'],
    fileBytesMax: 25 * 1024 * 1024,
    pathOf: (model, task, options) => azurePath(model, openAiTranscription.paths[task]!, options),
  },
  images: imagesOfAzure,
  // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/video-generation: by the v1 API alone.
  videos: {
    ...openAiVideos,
    pathOf: (model, { apiVersion }) =>
      azurePath(model, '/videos', { apiVersion: isV1(apiVersion) ? apiVersion : null }),
  },
  // https://learn.microsoft.com/azure/foundry/openai/how-to/batch: by the v1 API, for deployments that are made for batches.
  batches: {
    ...openAiBatches(),
    root: '/openai/v1',
    urlOf(path) {
      const [, end] = /^\/openai\/(?:v1|deployments\/[^/]+)(\/chat\/completions|\/responses)$/.exec(path) ?? [];
      return end === undefined ? null : `/v1${end}`;
    },
  },
  // https://learn.microsoft.com/azure/ai-foundry/openai/how-to/realtime-audio-websockets
  realtime: {
    format: 'openai',
    pathOf: (model, { apiVersion }) =>
      isV1(apiVersion)
        ? `/openai/v1/realtime?model=${encodeURIComponent(model)}`
        : `/openai/realtime?api-version=${encodeURIComponent(apiVersion ?? '')}&deployment=${encodeURIComponent(model)}`,
    // By the v1 API alone, as OpenAI's SDK asks for them.
    transcriptions: '/openai/v1/realtime?intent=transcription',
    calls: { path: '/openai/v1/realtime/calls', socket: '/openai/v1/realtime' },
  },
  tooLong: [
    // GitHub Models and Copilot are its neighbours.
    /body too large for .{1,100}? model\. max size: (?<most>\d+) tokens/i,
    /prompt token count of (?<sent>\d+) exceeds the limit of (?<most>\d+)/i,
  ],
  errors: [
    { status: 400, code: 'content_filter', class: 'filtered' },
    { status: 404, code: 'DeploymentNotFound', class: 'model_unavailable' },
    // The subscription's monthly quota; a plain 429 without the word is the per-minute limit.
    { status: 403, code: /quota|spending limit/i, class: 'quota_exhausted' },
    { status: 403, code: /virtual network|firewall/i, class: 'bad_credential' },
    { status: 401, code: /invalid subscription key|access denied/i, class: 'bad_credential' },
  ],
  chatPath: (model, options) => azurePath(model, '/chat/completions', options),
});

/** Deployments that are ready, each with the type of its model: its own name says nothing. */
function deployments(body: unknown): DiscoveredModel[] | null {
  if (!isObject(body) || !Array.isArray(body.data)) return null;
  const ready = body.data.filter(isObject).filter(({ status = 'succeeded' }) => status === 'succeeded');
  return ready.flatMap((row) => {
    const [named] = readModelList([{ id: row.id }]) ?? [];
    const [model = named] = readModelList([{ id: row.model }]) ?? [];
    return named === undefined || model === undefined ? [] : [{ id: named.id, type: model.type }];
  });
}
