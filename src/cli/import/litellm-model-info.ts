import type { ModelType } from '../../config/schema.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { factorsName, isLiteLlmPrice, pricesOf } from './litellm-prices.ts';
import type { Path } from './notes.ts';
import { numberOf, type Values } from './plain-values.ts';

/** Converts the facts of `model_info`. */
export interface ModelFacts {
  /** Null: neither it nor the model's name says. */
  type: ModelType | null;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  dimensions: number | null;
  /** `price` of a target; empty: there is none. */
  price: JsonObject;
  capabilities: Readonly<Record<string, boolean>>;
}

const types: Readonly<Record<string, ModelType>> = {
  chat: 'chat',
  completion: 'chat',
  responses: 'chat',
  embedding: 'embedding',
  image_generation: 'image',
  image_edit: 'image',
  audio_speech: 'speech',
  audio_transcription: 'transcription',
  rerank: 'rerank',
  video_generation: 'video',
};

/** By their names, where nothing says what they are. */
const typesByName: readonly (readonly [RegExp, ModelType])[] = [
  [/rerank/, 'rerank'],
  [/embed|^voyage-|bge-|\/e5-/, 'embedding'],
  [/whisper|transcribe/, 'transcription'],
  [/(^|[/-])tts(-|$)/, 'speech'],
  [/dall-e|gpt-image|imagen|stable-diffusion|(^|\/)flux/, 'image'],
];

const capabilities = [
  ['supports_vision', 'vision'],
  ['supports_function_calling', 'tools'],
  ['supports_reasoning', 'reasoning'],
  ['supports_native_streaming', 'streaming'],
  ['supports_audio_input', 'audio_in'],
  ['supports_response_schema', 'json_schema'],
  ['supports_pdf_input', 'files'],
] as const;

const known: ReadonlySet<string> = new Set([
  ...capabilities.map(([name]) => name),
  ...'id mode order base_model max_tokens max_input_tokens max_output_tokens output_vector_size'.split(' '),
  factorsName,
  // Keys and plans list the models of their groups.
  'access_groups',
  // Members of LiteLLM's own bookkeeping.
  ...'db_model description metadata created_at updated_at created_by updated_by key version'.split(' '),
]);

/** `params`: prices are allowed there too. */
export function modelFactsOf(
  values: Values,
  info: JsonObject,
  params: JsonObject,
  model: string,
  entry: Path,
): ModelFacts {
  const at = [...entry, 'model_info'];
  for (const name of Object.keys(info)) {
    if (!known.has(name) && !isLiteLlmPrice(name))
      values.notes.add([...at, name], 'not carried over: there is no such field of a model here');
  }
  const count = (name: string, most = 1_000_000_000) => {
    const number = numberOf(values, info[name], [...at, name]);
    return number === null ? null : Math.min(most, Math.max(1, Math.round(number)));
  };
  const type = typeOf(values, info.mode, [...at, 'mode'], model);
  // The older word for the output limit; for embedding models, the input limit.
  const older = count('max_tokens');
  return {
    type,
    contextWindow: count('max_input_tokens') ?? (type === 'embedding' ? older : null),
    maxOutputTokens: type === null || type === 'chat' ? (count('max_output_tokens') ?? older) : null,
    dimensions: type === 'embedding' ? count('output_vector_size', 65_536) : null,
    price: pricesOf(values, info, params, entry),
    capabilities: Object.fromEntries(
      capabilities.flatMap(([name, ours]) => (typeof info[name] === 'boolean' ? [[ours, info[name]]] : [])),
    ),
  };
}

function typeOf({ notes }: Values, mode: unknown, path: Path, model: string): ModelType | null {
  const known = typeof mode === 'string' ? directMember(types, mode) : undefined;
  if (known !== undefined) return known;
  if (mode !== undefined && mode !== null)
    notes.add(path, `there is no type for mode ${String(mode)}, so the name decides`);
  return typeByName(model);
}

/** Null where the name of a model does not say what it is. */
export function typeByName(model: string): ModelType | null {
  return typesByName.find(([pattern]) => pattern.test(model))?.[1] ?? null;
}
