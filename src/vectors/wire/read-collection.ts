import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { isObject } from '../../kernel/json.ts';
import {
  type CollectionSpec,
  collectionNamePattern,
  type Distance,
  distances,
  type PayloadType,
  payloadTypes,
  vectorSizeMax,
} from '../collection.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { AliasChange } from '../store.ts';
import {
  ignoreObjects,
  optional,
  readBoolean,
  readList,
  readString,
  readWhole,
  readWord,
  shown,
  under,
} from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';
import { modelCharsMax } from './vector-reader.ts';

/** Changes of aliases in one call. */
const aliasChangesMax = 1_000;

const contractKeys = ['vector_size', 'distance', 'embedding_model'];
/** Where and how one machine keeps its data is its own business: checked, and without effect. */
const tuningObjects = [
  'hnsw_config',
  'wal_config',
  'optimizers_config',
  'quantization_config',
  'strict_mode_config',
  'metadata',
];
const createKeys = [
  ...contractKeys,
  'vectors',
  ...tuningObjects,
  'shard_number',
  'sharding_method',
  'replication_factor',
  'write_consistency_factor',
  'on_disk_payload',
  'sparse_vectors',
];
const vectorKeys = [
  'size',
  'distance',
  'on_disk',
  'hnsw_config',
  'quantization_config',
  'datatype',
  'multivector_config',
];

/** Name of a collection or an alias, at `at`. */
export function readName(value: unknown, at: string): string {
  if (typeof value !== 'string') refuse(at, `expected a name, got ${kindOf(value)}`);
  // The last two cannot be asked for: clients take them out of a path.
  if (!collectionNamePattern.test(value) || value === '.' || value === '..') {
    refuse(at, `expected 1 to 255 letters, digits, '_', '-' or '.', got ${shown(value)}`);
  }
  return value;
}

/**
 * A new collection, in the contract's words, Qdrant's, or both mixed; `name`: from the path, null when the body has it.
 * `size` is 0 where the embedding model will tell it.
 */
export function readCreate(json: JsonObject, name: string | null): CollectionSpec {
  const body = readObject(json, 'body', name === null ? ['name', ...createKeys] : createKeys);
  refuseCreateExtras(body);
  const vectors = optional(body.vectors) ? null : readVectorParams(body.vectors, 'vectors');
  const embeddingModel = optional(body.embedding_model)
    ? null
    : readString(body.embedding_model, 'embedding_model', modelCharsMax);
  if (vectors !== null && !optional(body.vector_size))
    refuse('vector_size', 'give vector_size or vectors.size, not both');
  if (vectors !== null && !optional(body.distance)) refuse('distance', 'give distance or vectors.distance, not both');
  const size = vectors?.size ?? body.vector_size;
  if (optional(size) && embeddingModel === null) {
    refuse(
      name === null && vectors === null ? 'vector_size' : 'vectors.size',
      'is missing: give the length of the vectors, or an embedding_model',
    );
  }
  const sizeAt = vectors === null ? 'vector_size' : 'vectors.size';
  return {
    name: name ?? readName(body.name, 'name'),
    size: optional(size) ? 0 : readWhole(size, sizeAt, 1, vectorSizeMax),
    distance: readDistance(vectors?.distance ?? body.distance, vectors === null ? 'distance' : 'vectors.distance'),
    embeddingModel,
  };
}

/** Checks a PATCH, which changes nothing: what it could tune has no effect here, and the rest never changes. */
export function readUpdate(json: JsonObject): void {
  const fixed = [...contractKeys, 'name'];
  const body = readObject(json, 'body', [...fixed, 'vectors', 'params', ...tuningObjects, 'sparse_vectors']);
  for (const key of fixed) if (!optional(body[key])) refuseFixed(key);
  if (!optional(body.sparse_vectors)) refuseSparseVectors();
  ignoreObjects(body, '', ['params', ...tuningObjects]);
  if (optional(body.vectors)) return;
  if (!isObject(body.vectors)) refuse('vectors', `expected an object, got ${kindOf(body.vectors)}`);
  for (const key of ['size', 'distance']) if (key in body.vectors) refuseFixed(`vectors.${key}`);
  for (const [name, params] of Object.entries(body.vectors)) {
    if (name !== '') refuseNamed(`vectors.${name.slice(0, 64)}`);
    const changes = readObject(params, 'vectors[""]', vectorKeys);
    for (const key of ['size', 'distance']) if (key in changes) refuseFixed(`vectors[""].${key}`);
    ignoreObjects(changes, 'vectors[""]', ['hnsw_config', 'quantization_config']);
  }
}

/** `{actions: [{create_alias}, {delete_alias}, {rename_alias}]}`. */
export function readAliasChanges(json: JsonObject): AliasChange[] {
  const { actions } = readObject(json, 'body', ['actions']);
  return readList(actions, 'actions', { min: 1, max: aliasChangesMax }, readAliasChange);
}

/** `{field_name, field_schema}`; the type's own parameters have no effect. */
export function readPayloadIndex(json: JsonObject): { key: string; type: PayloadType } {
  const body = readObject(json, 'body', ['field_name', 'field_schema']);
  const key = readKeyPath(body.field_name, 'field_name').text;
  const schema = body.field_schema;
  if (!isObject(schema)) return { key, type: readWord(schema, 'field_schema', payloadTypes) };
  return { key, type: readWord(schema.type, 'field_schema.type', payloadTypes) };
}

interface VectorParams {
  size: JsonValue | undefined;
  distance: JsonValue | undefined;
}

function readVectorParams(value: JsonValue, at: string): VectorParams {
  if (!isObject(value)) refuse(at, `expected an object with size and distance, got ${kindOf(value)}`);
  const named = Object.entries(value).find(([key, params]) => !vectorKeys.includes(key) && isObject(params));
  if (named !== undefined) {
    if (named[0] === '' && Object.keys(value).length === 1) return readVectorParams(named[1]!, `${at}[""]`);
    refuseNamed(`${at}.${named[0].slice(0, 64)}`);
  }
  const params = readObject(value, at, vectorKeys);
  if (!optional(params.multivector_config)) {
    refuseUnsupported(`${at}.multivector_config`, 'multivectors are', 'write a point for each vector');
  }
  if (!optional(params.datatype) && params.datatype !== 'float32') {
    refuseUnsupported(`${at}.datatype`, 'other types than "float32" are', 'leave it out');
  }
  if (!optional(params.on_disk)) readBoolean(params.on_disk, `${at}.on_disk`);
  ignoreObjects(params, at, ['hnsw_config', 'quantization_config']);
  return { size: params.size, distance: params.distance };
}

function readDistance(value: JsonValue | undefined, at: string): Distance {
  if (optional(value)) return 'Cosine';
  const found = distances.find(
    (distance) => typeof value === 'string' && distance.toLowerCase() === value.toLowerCase(),
  );
  if (found === undefined) refuse(at, `expected ${distances.join(', ')}, got ${shown(value)}`);
  return found;
}

function refuseCreateExtras(body: JsonObject): void {
  const sparse = body.sparse_vectors;
  if (!optional(sparse) && !(isObject(sparse) && Object.keys(sparse).length === 0)) refuseSparseVectors();
  if (!optional(body.sharding_method) && body.sharding_method !== 'auto') {
    refuseUnsupported('sharding_method', 'shards of your own are', 'leave it out');
  }
  if (!optional(body.shard_number) && readWhole(body.shard_number, 'shard_number', 1, Number.MAX_SAFE_INTEGER) !== 1) {
    refuseUnsupported('shard_number', 'other numbers of shards than 1 are', 'leave it out');
  }
  for (const key of ['replication_factor', 'write_consistency_factor']) {
    if (!optional(body[key])) readWhole(body[key], key, 1, Number.MAX_SAFE_INTEGER);
  }
  if (!optional(body.on_disk_payload)) readBoolean(body.on_disk_payload, 'on_disk_payload');
  ignoreObjects(body, '', tuningObjects);
}

function readAliasChange(value: JsonValue, at: string): AliasChange {
  const kinds = ['create_alias', 'delete_alias', 'rename_alias'];
  const action = readObject(value, at, kinds);
  const [kind, ...others] = Object.keys(action);
  if (kind === undefined || others.length > 0) refuse(at, `expected one of ${kinds.join(', ')}`);
  const inner = under(at, kind);
  const read = (key: string, change: JsonObject): string => readName(change[key], under(inner, key));
  if (kind === 'create_alias') {
    const change = readObject(action[kind], inner, ['alias_name', 'collection_name']);
    return { kind: 'create', alias: read('alias_name', change), collection: read('collection_name', change) };
  }
  if (kind === 'delete_alias') {
    return { kind: 'delete', alias: read('alias_name', readObject(action[kind], inner, ['alias_name'])) };
  }
  const change = readObject(action[kind], inner, ['old_alias_name', 'new_alias_name']);
  return { kind: 'rename', from: read('old_alias_name', change), to: read('new_alias_name', change) };
}

function refuseFixed(at: string): never {
  refuse(at, 'never changes: make a new collection, and write the points there');
}

function refuseNamed(at: string): never {
  refuseUnsupported(at, 'named vectors are', 'make one collection for each kind of vector');
}

function refuseSparseVectors(): never {
  refuseUnsupported('sparse_vectors', 'sparse vectors are', 'make a collection of dense vectors');
}
