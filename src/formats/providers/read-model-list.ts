import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import type { DiscoveredModel } from './provider.ts';

/** More than any service lists; the rest of a longer list is left out. */
export const listedModelsMax = 2_000;

/**
 * The models of any list seen so far: OpenAI and those like it (`data[]`), Together (an array at the top), Anthropic,
 * Ollama and Cohere (`models[].name`), LM Studio (`data[]`, or `models[].key`), llama.cpp (`data[].meta`), vLLM,
 * OpenRouter, Mistral, Groq. In the list's order, each id once; null when the body is not a list.
 */
export function readModelList(body: unknown): DiscoveredModel[] | null {
  const rows = listOf(body);
  if (rows === null) return null;
  const models = new Map<string, DiscoveredModel>();
  for (const row of rows) {
    if (models.size >= listedModelsMax) break;
    const model = isObject(row) ? readRow(row) : null;
    if (model !== null && !models.has(model.id)) models.set(model.id, model);
  }
  return [...models.values()];
}

function listOf(body: unknown): readonly unknown[] | null {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return null;
  // llama.cpp sends both; `data` is OpenAI's and the richer one.
  if (Array.isArray(body.data)) return body.data;
  return Array.isArray(body.models) ? body.models : null;
}

function readRow(row: JsonObject): DiscoveredModel | null {
  // Withdrawn models stay in lists: Groq's as inactive, Cohere's as deprecated, Anthropic's as retired.
  if (row.active === false || row.is_deprecated === true || row.lifecycle === 'retired') return null;
  const id = [row.id, row.key, row.model, row.name].find((value) => typeof value === 'string' && value !== '');
  if (typeof id !== 'string' || !safeId.test(id)) return null;
  const type = modelType(row, id);
  if (type === null) return null;
  const meta = objectIn(row.meta);
  const top = objectIn(row.top_provider);
  const contextWindow = firstCount(
    row.context_length,
    row.context_window,
    row.max_model_len,
    row.max_context_length,
    row.max_input_tokens,
    meta.n_ctx,
    meta.n_ctx_train,
  );
  // Anthropic's list calls the output limit max_tokens; where the input limit is not given with it, it may mean either.
  const maxOutputTokens = firstCount(
    row.max_completion_tokens,
    row.max_output_tokens,
    top.max_completion_tokens,
    row.max_input_tokens === undefined ? undefined : row.max_tokens,
  );
  const createdS = firstCount(row.created) ?? secondsOf(row.created_at);
  // OpenAI, Anthropic, OpenRouter.
  const retiresOn = dayOf(row.shutdown_date ?? row.retires_at ?? row.expiration_date);
  return {
    id,
    type,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(createdS === undefined ? {} : { createdS }),
    ...(retiresOn === undefined ? {} : { retiresOn }),
  };
}

/** Ids become aliases, header values and log words: visible ASCII without quotes, brackets and backslash. */
const safeId = /^[A-Za-z0-9@_~][\w.:/@+~,=()-]{0,199}$/;

function firstCount(...values: unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function secondsOf(date: unknown): number | undefined {
  if (typeof date !== 'string') return undefined;
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1_000);
}

function dayOf(date: unknown): string | undefined {
  const seconds = secondsOf(date);
  return seconds === undefined ? undefined : new Date(seconds * 1_000).toISOString().slice(0, 10);
}

type ModelType = DiscoveredModel['type'];

/** Names of model kinds in lists (Together, LM Studio, Cohere, OpenRouter, Mistral, Ollama), and Hugging Face's, by type. */
const wordsOfTypes: readonly (readonly [ModelType | null, string])[] = [
  ['chat', 'chat language code llm vlm generate completion completion_chat text text-generation'],
  ['embedding', 'embedding embeddings embed feature-extraction sentence-similarity'],
  ['rerank', 'rerank'],
  ['image', 'image text-to-image'],
  ['speech', 'speech audio text-to-speech'],
  ['transcription', 'transcribe transcription automatic-speech-recognition'],
  ['video', 'video'],
  // Not served: `moderation` is Together's, and chats.
  [null, 'moderation classify voice-activity-detection'],
];
const typeByWord = new Map(
  wordsOfTypes.flatMap(([type, words]) => words.split(' ').map((word) => [word, type] as const)),
);

const typeById: readonly (readonly [RegExp, ModelType | null])[] = [
  [/embed|\bbge-|\be5-|\bgte-|voyage-\d|minilm/, 'embedding'],
  [/rerank|colbert/, 'rerank'],
  [/whisper|transcri|\bstt\b|\basr\b|parakeet|canary-|moonshine|wav2vec|speech-to-text/, 'transcription'],
  [/tts\b|\btts|kokoro|orpheus|playai|\bpiper\b|chatterbox|\bspeech\b/, 'speech'],
  [/\bsora\b|\bveo\b/, 'video'],
  [/dall-e|\bimage\b|\bimagen|flux|stable-?diffusion|sdxl|\bsd3|recraft/, 'image'],
  [/moderation/, 'moderation'],
  [/realtime/, 'realtime'],
  [/-ocr\b|^ocr\b/, 'ocr'],
  [/llama-?guard|prompt-guard|shieldgemma|davinci|babbage|-search-api/, null],
];

/**
 * The purpose of a listed model: the list's own word if it has one, else a guess by its name, else chat. Null for kinds
 * that no endpoint here serves well (guards, models of texts alone), which are left out.
 */
export function modelType(row: JsonObject, id: string): ModelType | null {
  const stated = statedType(row);
  if (stated !== undefined) return stated;
  const name = id.toLowerCase();
  for (const [pattern, type] of typeById) if (pattern.test(name)) return type;
  return 'chat';
}

function statedType(row: JsonObject): ModelType | null | undefined {
  for (const word of [row.type, row.task]) {
    const type = typeOfWord(word);
    if (type !== undefined) return type;
  }
  // Mistral: {completion_chat: true, …}; Ollama and llama.cpp: ["completion", "vision"]; Cohere: ["chat", "embed"].
  const { capabilities } = row;
  if (isObject(capabilities) && typeof capabilities.completion_chat === 'boolean') {
    // False says only that it does not chat; the name tells what it does.
    return capabilities.completion_chat ? 'chat' : undefined;
  }
  for (const words of [row.endpoints, capabilities, outputModalities(row)]) {
    if (!Array.isArray(words)) continue;
    const types = words.map(typeOfWord).filter((type) => type !== undefined);
    if (types.includes('chat')) return 'chat';
    if (types.length > 0) return types[0];
  }
  return undefined;
}

function outputModalities(row: JsonObject): unknown {
  return isObject(row.architecture) ? row.architecture.output_modalities : undefined;
}

function typeOfWord(word: unknown): ModelType | null | undefined {
  return typeof word === 'string' ? typeByWord.get(word) : undefined;
}
