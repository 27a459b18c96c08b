import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import {
  type CollectionSpec,
  collectionNamePattern,
  namedVectorsMax,
  type PayloadType,
  payloadTypes,
  type VectorSpec,
  vectorSizeMax,
  vectorSpecOf,
} from '../collection.ts';
import { changedSettings, type SettingsChange } from '../collection-settings.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { AliasChange } from '../vector-store.ts';
import { optional, readBoolean, readList, readString, readWhole, readWord, shown, under } from './read-scalars.ts';
import { readSettings, settingObjects } from './read-settings.ts';
import { readTextIndex } from './read-text-options.ts';
import { readDistance, readSparseVectors, readVectors, vectorKeys } from './read-vector-params.ts';
import { refuseUnsupported } from './unsupported.ts';
import { modelCharsMax } from './vector-reader.ts';

/** Changes of aliases in one call. */
const aliasChangesMax = 1_000;

const contractKeys = ['vector_size', 'distance', 'embedding_model'];
const createKeys = [
  ...contractKeys,
  'vectors',
  ...settingObjects,
  'metadata',
  'strict_mode_config',
  'shard_number',
  'sharding_method',
  'replication_factor',
  'write_consistency_factor',
  'on_disk_payload',
  'payload',
  'id_tracker',
  'sparse_vectors',
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
export function readCreate(json: JsonObject, name: string | null): CreatedCollection {
  const body = readObject(json, 'body', name === null ? ['name', ...createKeys] : createKeys);
  refuseCreateExtras(body);
  const vectors = readAllVectors(body, name);
  const unnamed = vectors.get('');
  if (unnamed?.kind === 'dense') vectors.delete('');
  if (vectors.size > namedVectorsMax) refuse('vectors', `a collection has at most ${namedVectorsMax} named vectors`);
  const settings = changedSettings(undefined, readSettings(body));
  const plain = unnamed?.kind === 'dense' ? unnamed : { size: 0, distance: 'Cosine' as const, embeddingModel: null };
  const spec: CollectionSpec = {
    name: name ?? readName(body.name, 'name'),
    size: plain.size,
    distance: plain.distance,
    embeddingModel: plain.embeddingModel,
    ...(vectors.size > 0 && { named: Object.fromEntries(vectors) }),
    ...(settings !== undefined && { settings }),
  };
  return { spec, sizes: sizesOf(spec, body) };
}

export interface CreatedCollection {
  spec: CollectionSpec;
  /** The vectors whose size the model tells, or must confirm; all of one model. Null: none. */
  sizes: { model: string; of: readonly { name: string; at: string; given: number }[] } | null;
}

function readAllVectors(body: JsonObject, name: string | null): Map<string, VectorSpec> {
  const contract = contractKeys.filter((key) => !optional(body[key]));
  const vectors = new Map<string, VectorSpec>(
    optional(body.vectors)
      ? []
      : readVectors(body.vectors, 'vectors', { modelBeside: !optional(body.embedding_model) }),
  );
  const unnamed = vectors.get('');
  if (unnamed !== undefined) {
    for (const key of ['vector_size', 'distance']) {
      const theirs = key === 'vector_size' ? 'vectors.size' : 'vectors.distance';
      if (!optional(body[key])) refuse(key, `give ${key} or ${theirs}, not both`);
    }
    if (!optional(body.embedding_model) && unnamed.kind === 'dense') {
      unnamed.embeddingModel = readString(body.embedding_model, 'embedding_model', modelCharsMax);
    }
  } else if (contract.length > 0 || (optional(body.vectors) && optional(body.sparse_vectors))) {
    vectors.set('', readContractVector(body, name));
  }
  for (const [sparse, spec] of readSparseVectors(body.sparse_vectors)) {
    if (vectors.has(sparse)) refuse(`sparse_vectors.${sparse}`, 'a dense vector has this name already');
    vectors.set(sparse, spec);
  }
  return vectors;
}

/** `vector_size`, `distance`, `embedding_model`. */
function readContractVector(body: JsonObject, name: string | null): VectorSpec {
  const embeddingModel = optional(body.embedding_model)
    ? null
    : readString(body.embedding_model, 'embedding_model', modelCharsMax);
  if (optional(body.vector_size) && embeddingModel === null) {
    refuse(
      name === null ? 'vector_size' : 'vectors.size',
      'is missing: give the length of the vectors, or an embedding_model',
    );
  }
  const size = optional(body.vector_size) ? 0 : readWhole(body.vector_size, 'vector_size', 1, vectorSizeMax);
  return { kind: 'dense', size, distance: readDistance(body.distance, 'distance'), embeddingModel };
}

/** One call embeds with one model: where several have one, sizes of all but one model's vectors must be given. */
function sizesOf({ size, embeddingModel, named = {} }: CollectionSpec, body: JsonObject): CreatedCollection['sizes'] {
  const unnamedAt = optional(body.vectors) ? 'vector_size' : 'vectors.size';
  const embedded = [
    ...(embeddingModel === null ? [] : [{ name: '', at: unnamedAt, given: size, model: embeddingModel }]),
    ...Object.entries(named).flatMap(([name, spec]) => {
      if (spec.kind !== 'dense' || spec.embeddingModel === null) return [];
      return [{ name, at: `vectors.${name}.size`, given: spec.size, model: spec.embeddingModel }];
    }),
  ];
  const model = (embedded.find(({ given }) => given === 0) ?? embedded[0])?.model;
  if (model === undefined) return null;
  const other = embedded.find((one) => one.given === 0 && one.model !== model);
  if (other !== undefined) {
    refuse(
      other.at,
      `is missing: one call asks one model for its size, here '${model}'. Give that of '${other.model}'`,
    );
  }
  return { model, of: embedded.filter((one) => one.model === model) };
}

/** A PATCH changes settings alone: the rest never changes. */
export function readUpdate(json: JsonObject, spec: CollectionSpec): SettingsChange {
  const fixed = [...contractKeys, 'name'];
  const keys = [...fixed, 'vectors', 'params', ...settingObjects, 'metadata', 'strict_mode_config', 'sparse_vectors'];
  const body = readObject(json, 'body', keys);
  refuseStrictMode(body);
  for (const key of fixed) if (!optional(body[key])) refuseFixed(key);
  if (!optional(body.vectors)) readVectorChanges(body.vectors, spec);
  if (!optional(body.sparse_vectors)) readSparseChanges(body.sparse_vectors, spec);
  return readSettings(body);
}

function readVectorChanges(value: JsonValue, spec: CollectionSpec): void {
  if (!isObject(value)) refuse('vectors', `expected an object, got ${kindOf(value)}`);
  for (const key of ['size', 'distance']) if (key in value && !isObject(value[key])) refuseFixed(`vectors.${key}`);
  for (const [name, params] of Object.entries(value)) {
    const at = `vectors[${JSON.stringify(name.slice(0, 64))}]`;
    if (vectorSpecOf(spec, name) === null) refuse(at, `the collection has no vector of that name`);
    const changes = readObject(params, at, vectorKeys);
    for (const key of ['size', 'distance', 'datatype', 'embedding_model', 'multivector_config']) {
      if (key in changes) refuseFixed(`${at}.${key}`);
    }
  }
}

function readSparseChanges(value: JsonValue, spec: CollectionSpec): void {
  if (!isObject(value)) refuse('sparse_vectors', `expected an object, got ${kindOf(value)}`);
  for (const [name, changes] of readSparseVectors(value)) {
    const at = `sparse_vectors.${name.slice(0, 64)}`;
    const known = vectorSpecOf(spec, name);
    if (known?.kind !== 'sparse') refuse(at, 'the collection has no sparse vector of that name');
    // Clients that change the index alone leave the others out.
    const given = (key: string) => !optional((value[name] as JsonObject)[key]);
    if (changes.kind !== 'sparse') continue;
    if (given('modifier') && changes.modifier !== known.modifier) refuseFixed(`${at}.modifier`);
    if (given('embedding_model') && changes.embeddingModel !== known.embeddingModel) {
      refuseFixed(`${at}.embedding_model`);
    }
  }
}

/** `{actions: [{create_alias}, {delete_alias}, {rename_alias}]}`. */
export function readAliasChanges(json: JsonObject): AliasChange[] {
  const { actions } = readObject(json, 'body', ['actions']);
  return readList(actions, 'actions', { min: 1, max: aliasChangesMax }, readAliasChange);
}

/** `{field_name, field_schema}`; parameters are kept, and have an effect on texts alone. */
export function readPayloadIndex(json: JsonObject): { key: string; type: PayloadType; params?: JsonObject } {
  const body = readObject(json, 'body', ['field_name', 'field_schema']);
  const key = readKeyPath(body.field_name, 'field_name').text;
  const schema = body.field_schema;
  if (!isObject(schema)) return { key, type: readWord(schema, 'field_schema', payloadTypes) };
  const type = readWord(schema.type, 'field_schema.type', payloadTypes);
  if (type === 'text') readTextIndex(schema, 'field_schema');
  else checkIndexParams(schema);
  return { key, type, params: schema };
}

/** Settings of Qdrant's own index, all of them flags but the last. */
function checkIndexParams(schema: JsonObject): void {
  const flags = ['is_tenant', 'is_principal', 'on_disk', 'enable_hnsw', 'lookup', 'range', 'prefix'];
  const params = readObject(schema, 'field_schema', ['type', ...flags, 'memory']);
  for (const flag of flags) if (!optional(params[flag])) readBoolean(params[flag], `field_schema.${flag}`);
  if (!optional(params.memory)) readWord(params.memory, 'field_schema.memory', ['cold', 'cached', 'pinned']);
}

function refuseCreateExtras(body: JsonObject): void {
  if (!optional(body.sharding_method) && body.sharding_method !== 'auto') {
    refuseUnsupported('sharding_method', 'shards of your own are', 'leave it out');
  }
  if (!optional(body.shard_number) && readWhole(body.shard_number, 'shard_number', 1, Number.MAX_SAFE_INTEGER) !== 1) {
    refuseUnsupported('shard_number', 'other numbers of shards than 1 are', 'leave it out');
  }
  for (const key of ['replication_factor', 'write_consistency_factor']) {
    if (!optional(body[key])) readWhole(body[key], key, 1, Number.MAX_SAFE_INTEGER);
  }
  refuseStrictMode(body);
}

/** Strict mode that is off is what every collection has. */
function refuseStrictMode({ strict_mode_config: strict }: JsonObject): void {
  const off = isObject(strict) && (optional(strict.enabled) || strict.enabled === false);
  if (!optional(strict) && !isObject(strict)) refuse('strict_mode_config', `expected an object, got ${kindOf(strict)}`);
  if (!optional(strict) && !off) {
    refuseUnsupported('strict_mode_config.enabled', 'limits of one collection are', 'set it to false, or leave it out');
  }
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
  refuse(at, 'never changes. Create a new collection, and write the points there');
}
