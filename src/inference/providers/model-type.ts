import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { DiscoveredModel } from './provider.ts';

export type ModelType = DiscoveredModel['type'];

/** What lists call the kinds of models (Together, LM Studio, Cohere, OpenRouter, Mistral, Ollama); null = not served. */
const typeByWord: Readonly<Record<string, ModelType | null>> = {
  chat: 'chat',
  language: 'chat',
  code: 'chat',
  llm: 'chat',
  vlm: 'chat',
  generate: 'chat',
  completion: 'chat',
  completion_chat: 'chat',
  text: 'chat',
  embedding: 'embedding',
  embeddings: 'embedding',
  embed: 'embedding',
  rerank: 'rerank',
  image: 'image',
  speech: 'speech',
  audio: 'speech',
  transcribe: 'transcription',
  transcription: 'transcription',
  moderation: null,
  classify: null,
  video: null,
  // Hugging Face's words, which speaches and others take over.
  'automatic-speech-recognition': 'transcription',
  'text-to-speech': 'speech',
  'feature-extraction': 'embedding',
  'sentence-similarity': 'embedding',
  'text-generation': 'chat',
  'text-to-image': 'image',
  'voice-activity-detection': null,
};

const typeById: readonly (readonly [RegExp, ModelType | null])[] = [
  [/embed|\bbge-|\be5-|\bgte-|voyage-\d|minilm/, 'embedding'],
  [/rerank|colbert/, 'rerank'],
  [/whisper|transcri|\bstt\b|\basr\b|parakeet|canary-|moonshine|wav2vec|speech-to-text/, 'transcription'],
  [/tts\b|\btts|kokoro|orpheus|playai|\bpiper\b|chatterbox|\bspeech\b/, 'speech'],
  [/dall-e|\bimage\b|\bimagen|flux|stable-?diffusion|sdxl|\bsd3|recraft/, 'image'],
  [
    /moderation|llama-?guard|prompt-guard|shieldgemma|\bsora\b|\bveo\b|realtime|davinci|babbage|-ocr|^ocr|-search-api/,
    null,
  ],
];

/**
 * What a listed model is for: the list's own word if it has one, else a guess by its name, else chat.
 * Null for kinds that no endpoint here serves (moderation, video, realtime), which are left out.
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
  return typeof word === 'string' && Object.hasOwn(typeByWord, word) ? typeByWord[word] : undefined;
}
