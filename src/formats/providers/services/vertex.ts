import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { pathSegment } from '../../../kernel/web/uri-text.ts';
import type { DialectId } from '../../dialects/dialect.ts';
import { usesContentMethod } from '../../embeddings/vertex.ts';
import { inCloud, openedByBeta } from '../claude-in-clouds.ts';
import { openAiQuirks } from '../openai-like.ts';
import { claudeCaching } from '../prompt-caching.ts';
import type { DiscoveredModel, Place, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';
import { anthropic } from './anthropic.ts';
import {
  answeredByGemini,
  geminiInputType,
  geminiTooLong,
  geminiVoices,
  heldOverSockets,
  videosOfVeo,
} from './gemini.ts';

const byGemini = answeredByGemini(pathOfGoogle);

/**
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs: Gemini by `generateContent`, Claude by `rawPredict` with
 * Anthropic's own bodies, Mistral by `rawPredict` with chat completions, open models (`meta/llama-…`) by the endpoint of
 * OpenAI's format. Which one it is, the name of the model says.
 */
export const vertex: Provider = {
  id: 'vertex',
  title: 'Google Vertex AI',
  dialect: 'gemini',
  // https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/web-search
  serverTools: ['web_search'],
  families: [
    { pattern: /^(anthropic\/)?claude-/, dialects: ['anthropic-messages'] },
    { pattern: /^(mi|mini|magi)stral|^codestral|^pixtral/, dialects: ['openai-chat'] },
    { pattern: /^(?!google\/|publishers\/|models\/|endpoints\/)[^/]+\/./, dialects: ['openai-chat'] },
  ],
  bodies: {
    'anthropic-messages': {
      without: ['model'],
      with: { anthropic_version: 'vertex-2023-10-16' },
      fits: inCloud(),
      opened: openedByBeta,
      headerBetas:
        /^(claude-code|interleaved-thinking|context-1m|context-management|computer-use|compact|tool-search-tool|web-search|fine-grained-tool-streaming|per-turn-control|dangerous-tool-use|thinking-binding-controls|thinking-display-updates)-20\d\d/,
    },
  },
  baseUrl: 'https://aiplatform.googleapis.com/v1',
  placeOf,
  auth: 'x-goog-api-key',
  tokens: {
    id: 'google',
    hosts: /^([a-z0-9-]+-)?aiplatform\.googleapis\.com$|^aiplatform\.[a-z]+\.rep\.googleapis\.com$/,
  },
  envKey: null,
  local: false,
  paths: { chat: '/publishers', models: null, originModels: '/v1beta1/publishers/google/models?pageSize=300' },
  headers: {},
  promptCaching: claudeCaching,
  // Its tiers are headers.
  quirks: { ...openAiQuirks, nativeN: false, omit: ['service_tier'] },
  errors: [],
  tooLong: [...geminiTooLong, ...(anthropic.tooLong ?? [])],
  ...byGemini,
  videos: videosOfVeo(pathOfGoogle, (model, operationName) => ({
    path: `${pathOfGoogle(model)}:fetchPredictOperation`,
    body: { operationName },
  })),
  // Claude's versions are behind `@` here alone.
  idOf: (model) => model.replace(/^((?:anthropic\/)?claude-.+)-(\d{8})$/, '$1@$2'),
  chatPath(model, options) {
    const { dialect, answer } = options;
    const predict = answer === 'stream' ? 'streamRawPredict' : 'rawPredict';
    if (dialect === 'anthropic-messages') return `${pathOf('anthropic', model.replace(/^anthropic\//, ''))}:${predict}`;
    if (dialect === 'gemini') return byGemini.chatPath(model, options);
    return model.includes('/') ? '/endpoints/openapi/chat/completions' : `${pathOf('mistralai', model)}:${predict}`;
  },
  countPath,
  embeds: {
    format: 'vertex',
    path: '',
    pathOf: (model) => `${pathOfGoogle(model)}:${usesContentMethod(model) ? 'embedContent' : 'predict'}`,
    batch: 250,
    singly: (model) => usesContentMethod(model) || /gemini-embedding/.test(model),
    // 20,000 by its own count, which ours may miss by half.
    batchTokens: 10_000,
    takesTokens: false,
    dimensions: /gemini-embedding|text-embedding-00[4-9]|text-multilingual-embedding-002/,
    inputType: geminiInputType,
  },
  // https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/multimodal-live
  realtime: {
    format: 'gemini',
    pathOf: (_model, { apiVersion }) => ({
      fromOrigin: `/ws/google.cloud.aiplatform.${apiVersion ?? 'v1'}.LlmBidiService/BidiGenerateContent`,
    }),
    // In express mode there is no project before it.
    resourceOf: (model, basePath) => (basePath + pathOfGoogle(model)).replace(/^\/v1(beta1)?\//, '/'),
    voices: geminiVoices,
    // Google keeps sessions that may be resumed for 24 hours there, which it does to nobody who does not ask for it.
  },
  listModels,
};

/** The base URL, with the host that Google's and Anthropic's SDKs choose. One that names a project is taken as it is. */
function placeOf({ baseUrl, region, project, apiVersion, keyed }: Place): { baseUrl: string } {
  const at = region ?? 'global';
  const base = (baseUrl ?? `https://${hostOf(at)}`).replace(/\/+$/, '').replace(/\/v1(beta1)?$/, '');
  if (base.includes('/projects/')) return { baseUrl: base };
  const versioned = `${base}/${apiVersion ?? 'v1'}`;
  // Express mode: the key says the project.
  if (keyed && project === null) return { baseUrl: versioned };
  // The authorizer puts the project of the credentials in the place of `-`.
  return { baseUrl: `${versioned}/projects/${encodeURIComponent(project ?? '-')}/locations/${at}` };
}

function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`;
  return `${region}-aiplatform.googleapis.com`;
}

function pathOf(publisher: string, model: string): string {
  // Claude's versions are written behind `@`, which a path may hold.
  return `/publishers/${publisher}/models/${pathSegment(model).replaceAll('%40', '@')}`;
}

/** `gemini-2.5-flash`, `google/gemini-2.5-flash`, or `endpoints/123` of a tuned one. */
function pathOfGoogle(model: string): string {
  const endpoint = /^endpoints\/(.+)$/s.exec(model)?.[1];
  if (endpoint !== undefined) return `/endpoints/${pathSegment(endpoint)}`;
  return pathOf('google', model.replace(/^(publishers\/google\/models|google|models)\//, ''));
}

function countPath(model: string, dialect: DialectId): string | null {
  if (dialect === 'anthropic-messages') return `${pathOf('anthropic', 'count-tokens')}:rawPredict`;
  return dialect === 'gemini' ? `${pathOfGoogle(model)}:countTokens` : null;
}

/** `{publisherModels: [{name: "publishers/google/models/…"}]}`: Google's own alone, old ones too. */
function listModels(body: unknown): DiscoveredModel[] | null {
  if (!isObject(body) || !Array.isArray(body.publisherModels)) return null;
  return body.publisherModels.slice(0, listedModelsMax).flatMap((row) => (isObject(row) ? readRow(row) : []));
}

const listedId = /^publishers\/google\/models\/([a-z0-9][\w.-]{0,199})$/;

function readRow({ name }: JsonObject): DiscoveredModel[] {
  const id = typeof name === 'string' ? listedId.exec(name)?.[1] : undefined;
  const type = id === undefined ? null : typeOf(id);
  return id === undefined || type === null ? [] : [{ id, type }];
}

/** Null for what is not asked by any of these paths: pictures' tools, models to deploy. */
function typeOf(id: string): DiscoveredModel['type'] | null {
  if (heldOverSockets.test(id)) return null;
  if (/embedding/.test(id)) return /^(gemini|text)-/.test(id) ? 'embedding' : null;
  if (/^imagen-[\d.]+-(fast-|ultra-)?generate/.test(id)) return 'image';
  if (id.startsWith('veo-')) return 'video';
  if (!id.startsWith('gemini-')) return null;
  if (/-tts\b/.test(id)) return 'speech';
  return /-image\b/.test(id) ? 'image' : 'chat';
}
