import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { pathSegment } from '../../../kernel/web/uri-text.ts';
import type { InputTypeFacts } from '../../embeddings/format.ts';
import type { VoiceFacts } from '../../media/speech/voices.ts';
import type { VideoFacts } from '../../media/videos/format.ts';
import { imagesOfGoogle } from '../image-models.ts';
import { openAiQuirks } from '../openai-like.ts';
import type { DiscoveredModel, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';

export const geminiVoices: VoiceFacts = {
  names: (
    'Zephyr Puck Charon Kore Fenrir Leda Orus Aoede Callirrhoe Autonoe Enceladus Iapetus Umbriel Algieba Despina ' +
    'Erinome Algenib Rasalgethi Laomedeia Achernar Alnilam Schedar Gacrux Pulcherrima Achird Zubenelgenubi ' +
    'Vindemiatrix Sadachbia Sadaltager Sulafat'
  ).split(' '),
  standard: { alloy: 'Kore', echo: 'Puck', fable: 'Charon', onyx: 'Orus', nova: 'Aoede', shimmer: 'Leda' },
};

/** Purposes of inputs, in Google's words. */
export const geminiInputType: InputTypeFacts = {
  field: 'taskType',
  words: {
    query: 'RETRIEVAL_QUERY',
    document: 'RETRIEVAL_DOCUMENT',
    classification: 'CLASSIFICATION',
    clustering: 'CLUSTERING',
    similarity: 'SEMANTIC_SIMILARITY',
  },
  asymmetric: /gemini-embedding-001|text-embedding-00/,
};

export const geminiTooLong: readonly RegExp[] = [
  /input token count \(?(?<sent>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<most>\d+)\)?/i,
  /input token count exceeds the maximum number of tokens allowed \(?(?<most>\d+)/i,
  /input token count is (?<sent>\d+) but (?:the )?model only supports up to (?<most>\d+)/i,
  /input token count exceeds the maximum/i,
];

/** The requests and operations of Veo, by the path of a model below the base URL. */
export function videosOfVeo(pathOf: (model: string) => string, operation: VideoFacts['operation']): VideoFacts {
  return {
    format: 'veo',
    models: /(^|\/)veo-/,
    pathOf: (model) => `${pathOf(model)}:predictLongRunning`,
    ...(operation !== undefined && { operation }),
  };
}

/** The endpoints of Gemini's models, by the path of a model below the base URL. */
export function answeredByGemini(pathOf: (model: string) => string) {
  return {
    chatPath: (model, { answer }) =>
      `${pathOf(model)}:${answer === 'stream' ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    speech: {
      format: 'gemini',
      path: '',
      pathOf: (model) => `${pathOf(model)}:streamGenerateContent?alt=sse`,
      outputs: ['pcm'],
      voices: [geminiVoices],
      speed: 'not taken',
      instructions: 'taken',
    },
    images: imagesOfGoogle(pathOf),
    transcription: {
      format: 'gemini',
      paths: { transcribe: '', translate: '' },
      pathOf: (model) => `${pathOf(model)}:generateContent`,
      timestamps: 'none',
      containers: ['wav', 'mp3', 'aiff', 'aac', 'ogg', 'oga', 'opus', 'flac'],
      // Of 20 MB a request, as much as base64 leaves.
      fileBytesMax: 14 * 1024 * 1024,
    },
  } satisfies Partial<Provider>;
}

/**
 * https://ai.google.dev/api. Model and streaming are in the path. The converter decides what it can express; the quirks
 * only tell routing what a target of this provider can do: several candidates are refused by most models. Log
 * probabilities are the models' to refuse to callers of Google's own format; the converter refuses them to others.
 */
export const gemini: Provider = {
  id: 'gemini',
  title: 'Google Gemini',
  prices: 'google',
  dialect: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  baseSuffixes: ['/models', '/openai', '/v1'],
  baseEnd: '/v1beta',
  auth: 'x-goog-api-key',
  envKey: 'GEMINI_API_KEY',
  local: false,
  paths: { chat: '/models', models: '/models?pageSize=1000' },
  headers: {},
  quirks: { ...openAiQuirks, nativeN: false },
  // Its own errors are the dialect's.
  errors: [],
  tooLong: geminiTooLong,
  videos: videosOfVeo(
    (model) => `/${resourceOf(model)}`,
    (_model, name) => ({ path: `/${name}`, body: null }),
  ),
  embeds: {
    format: 'gemini',
    path: '',
    pathOf: (model) => `/${resourceOf(model)}:batchEmbedContents`,
    batch: 100,
    takesTokens: false,
    dimensions: /gemini-embedding|text-embedding-00[4-9]/,
    inputType: geminiInputType,
  },
  ...answeredByGemini((model) => `/${resourceOf(model)}`),
  // https://ai.google.dev/gemini-api/docs/batch-api
  batches: {
    format: 'gemini',
    urlOf: (path) => (batchable.test(path) ? path.replace(/:generateContent$/, ':batchGenerateContent') : null),
    linesMax: 50_000,
    bytesMax: 200_000_000,
    priceShare: 0.5,
  },
  // https://ai.google.dev/api/live
  realtime: {
    format: 'gemini',
    pathOf: () => ({ fromOrigin: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent' }),
    voices: geminiVoices,
    resumes: true,
  },
  listModels,
};

/** Tuned models have no batches. */
const batchable = /^\/models\/[^/]+:generateContent$/;

/** `gemini-2.5-flash`, `models/gemini-2.5-flash` or `tunedModels/mine`. */
function resourceOf(model: string): string {
  const [, kind = 'models', id = model] = /^(models|tunedModels)\/(.+)$/s.exec(model) ?? [];
  return `${kind}/${pathSegment(id)}`;
}

/** `{models: [{name: "models/…", supportedGenerationMethods, inputTokenLimit, outputTokenLimit}]}` */
function listModels(body: unknown): DiscoveredModel[] {
  if (!isObject(body) || !Array.isArray(body.models)) return [];
  return body.models.slice(0, listedModelsMax).flatMap((row) => (isObject(row) ? readRow(row) : []));
}

const listedId = /^models\/([A-Za-z0-9][\w.:-]{0,199})$/;
/** They are talked to over a socket. */
export const heldOverSockets = /-native-audio|-live\b|\blive-/;

function readRow(row: JsonObject): DiscoveredModel[] {
  const id = typeof row.name === 'string' ? listedId.exec(row.name)?.[1] : undefined;
  const methods = row.supportedGenerationMethods;
  if (id === undefined || !Array.isArray(methods) || heldOverSockets.test(id)) return [];
  const type = methods.includes('generateContent')
    ? /-tts\b/.test(id)
      ? 'speech'
      : /-image\b/.test(id)
        ? 'image'
        : 'chat'
    : methods.includes('embedContent')
      ? 'embedding'
      : methods.includes('predict') && id.startsWith('imagen')
        ? 'image'
        : null;
  if (type === null) return [];
  const model: DiscoveredModel = { id, type };
  if (isCount(row.inputTokenLimit)) model.contextWindow = row.inputTokenLimit;
  if (isCount(row.outputTokenLimit)) model.maxOutputTokens = row.outputTokenLimit;
  return [model];
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
