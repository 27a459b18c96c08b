import { imagesOfAzure } from '../image-models.ts';
import { openAiEmbeddings, openAiLike, openAiSpeech, openAiTranscription } from '../openai-like.ts';

/**
 * https://learn.microsoft.com/azure/ai-services/openai/reference. What callers name as the upstream model is the
 * deployment. There is no list of deployments for an API key, so nothing is discovered.
 */
export const azureOpenAi = openAiLike({
  id: 'azure-openai',
  title: 'Azure OpenAI',
  baseUrl: null,
  baseSuffixes: ['/openai/v1/chat/completions', '/openai/v1/responses', '/openai/v1', '/openai'],
  auth: 'api-key',
  quirks: { omitConverted: ['top_k'] },
  paths: { models: null, responses: '/openai/v1/responses', messages: null },
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
    pathOf: (model, { apiVersion }) =>
      apiVersion === null
        ? '/openai/v1/embeddings'
        : `/openai/deployments/${pathSegment(model)}/embeddings?api-version=${encodeURIComponent(apiVersion)}`,
  },
  // A deployment may have any name, so its voices are not known by it.
  speech: {
    ...openAiSpeech,
    pathOf: (model, { apiVersion }) =>
      apiVersion === null
        ? '/openai/v1/audio/speech'
        : `/openai/deployments/${pathSegment(model)}/audio/speech?api-version=${encodeURIComponent(apiVersion)}`,
  },
  transcription: {
    ...openAiTranscription,
    containers: ['flac', 'mp3', 'mp4', 'm4a', 'ogg', 'oga', 'opus', 'wav', 'webm'],
    fileBytesMax: 25 * 1024 * 1024,
    pathOf: (model, task, { apiVersion }) =>
      apiVersion === null
        ? `/openai/v1${openAiTranscription.paths[task]}`
        : `/openai/deployments/${pathSegment(model)}${openAiTranscription.paths[task]}?api-version=${encodeURIComponent(apiVersion)}`,
  },
  images: imagesOfAzure,
  errors: [
    { status: 400, code: 'content_filter', class: 'caller_fault' },
    { status: 404, code: 'DeploymentNotFound', class: 'model_unavailable' },
    // The subscription's monthly quota; a plain 429 without the word is the per-minute limit.
    { status: 403, code: /quota|spending limit/i, class: 'quota_exhausted' },
    { status: 403, code: /virtual network|firewall/i, class: 'bad_credential' },
    { status: 401, code: /invalid subscription key|access denied/i, class: 'bad_credential' },
  ],
  chatPath: (model, { apiVersion }) =>
    apiVersion === null
      ? '/openai/v1/chat/completions'
      : `/openai/deployments/${pathSegment(model)}/chat/completions?api-version=${encodeURIComponent(apiVersion)}`,
});

// A pattern alias lets callers shape the model: `..` must not climb out of /deployments/.
function pathSegment(model: string): string {
  return /^\.*$/.test(model) ? '-' : encodeURIComponent(model.toWellFormed());
}
