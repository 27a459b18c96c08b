import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { type Distance, distances, type VectorSpec, vectorNameCharsMax, vectorSizeMax } from '../collection.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { bm25Model, isBm25 } from '../text/bm25.ts';
import { optional, readString, readWhole, readWord, shown } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';
import { modelCharsMax } from './vector-reader.ts';

export const vectorKeys =
  'size distance on_disk hnsw_config quantization_config datatype multivector_config embedding_model memory'.split(' ');
const sparseKeys = ['index', 'modifier', 'embedding_model'];

/** `size` is 0 where the embedding model will tell it. */
type VectorParams = Exclude<VectorSpec, { kind: 'sparse' }>;

/**
 * `vectors` of a new collection: by name, the unnamed one under ''. `{}`: none. `modelBeside`: the body names the unnamed
 * one's embedding model, which knows its size.
 */
export function readVectors(
  value: JsonValue,
  at: string,
  { modelBeside }: { modelBeside: boolean },
): Map<string, VectorParams> {
  if (!isObject(value)) refuse(at, `expected an object with size and distance, got ${kindOf(value)}`);
  const read = new Map<string, VectorParams>();
  if (isParams(value)) read.set('', readVectorParams(value, at, modelBeside));
  else {
    for (const [name, params] of Object.entries(value)) {
      const place = name === '' ? `${at}[""]` : `${at}.${name.slice(0, 64)}`;
      checkName(name, at);
      read.set(name, readVectorParams(params, place, modelBeside && name === ''));
    }
  }
  return read;
}

/** The object is one vector's, rather than one for each name. */
export function isParams(value: JsonObject): boolean {
  const entries = Object.entries(value);
  if (entries.length === 0) return false;
  return entries.every(([key]) => vectorKeys.includes(key)) || entries.some(([, one]) => !isObject(one));
}

function readVectorParams(value: JsonValue | undefined, at: string, modelBeside: boolean): VectorParams {
  const params = readObject(value, at, vectorKeys);
  const embeddingModel = optional(params.embedding_model)
    ? null
    : readString(params.embedding_model, `${at}.embedding_model`, modelCharsMax);
  if (optional(params.size) && embeddingModel === null && !modelBeside) {
    refuse(`${at}.size`, 'is missing: give the length of the vectors, or an embedding_model');
  }
  const size = optional(params.size) ? 0 : readWhole(params.size, `${at}.size`, 1, vectorSizeMax);
  const distance = readDistance(params.distance, `${at}.distance`);
  if (optional(params.multivector_config)) return { kind: 'dense', size, distance, embeddingModel };
  const { comparator } = readObject(params.multivector_config, `${at}.multivector_config`, ['comparator']);
  readWord(comparator, `${at}.multivector_config.comparator`, ['max_sim']);
  if (embeddingModel !== null || modelBeside) {
    refuseUnsupported(
      modelBeside ? 'embedding_model' : `${at}.embedding_model`,
      'models of multivectors are',
      'send the vectors',
    );
  }
  return { kind: 'multi', size, distance };
}

/** `sparse_vectors` of a new collection, by name. */
export function readSparseVectors(value: JsonValue | undefined): Map<string, VectorSpec> {
  const read = new Map<string, VectorSpec>();
  if (optional(value)) return read;
  if (!isObject(value)) refuse('sparse_vectors', `expected an object, got ${kindOf(value)}`);
  for (const [name, params] of Object.entries(value)) {
    checkName(name, 'sparse_vectors');
    read.set(name, readSparseParams(params, `sparse_vectors.${name.slice(0, 64)}`));
  }
  return read;
}

function readSparseParams(value: JsonValue | undefined, at: string): Extract<VectorSpec, { kind: 'sparse' }> {
  const params = readObject(value, at, sparseKeys);
  if (!optional(params.index)) {
    const index = readObject(params.index, `${at}.index`, ['full_scan_threshold', 'on_disk', 'datatype', 'memory']);
    if (!optional(index.memory)) readWord(index.memory, `${at}.index.memory`, ['cold', 'cached', 'pinned']);
    // Their numbers are stored as f32, which is at least as exact.
    if (!optional(index.datatype) && index.datatype !== 'float32' && index.datatype !== 'float16') {
      refuseUnsupported(`${at}.index.datatype`, 'other types than "float32" and "float16" are', 'leave it out');
    }
  }
  const model = optional(params.embedding_model)
    ? null
    : readString(params.embedding_model, `${at}.embedding_model`, modelCharsMax);
  if (model !== null && !isBm25(model)) {
    refuse(`${at}.embedding_model`, `a sparse vector takes '${bm25Model}', got ${shown(model)}`);
  }
  const fallback = model === null ? 'none' : 'idf';
  const modifier = optional(params.modifier) ? fallback : readWord(params.modifier, `${at}.modifier`, ['none', 'idf']);
  return { kind: 'sparse', modifier, embeddingModel: model === null ? null : bm25Model };
}

function checkName(name: string, at: string): void {
  if (name.length > vectorNameCharsMax) {
    refuse(at, `names of vectors have at most ${vectorNameCharsMax} characters, one has ${name.length}`);
  }
}

export function readDistance(value: JsonValue | undefined, at: string): Distance {
  if (optional(value)) return 'Cosine';
  const found = distances.find(
    (distance) => typeof value === 'string' && distance.toLowerCase() === value.toLowerCase(),
  );
  if (found === undefined) refuse(at, `expected ${distances.join(', ')}, got ${shown(value)}`);
  return found;
}
