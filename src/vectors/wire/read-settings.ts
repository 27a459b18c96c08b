import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { SettingsChange, VectorSettings } from '../collection-settings.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { optional, readBoolean, readWord, shown, under } from './read-scalars.ts';
import { isParams } from './read-vector-params.ts';
import { refuseUnsupported } from './unsupported.ts';

/** Objects of a collection's body that change nothing here. */
export const settingObjects = ['hnsw_config', 'wal_config', 'optimizers_config', 'quantization_config'] as const;

/** Type of one component. Always stored as f32: scores are at least as exact. */
const datatypes = ['float32', 'float16', 'turbo4', 'turbo8', 'turbo16'];

/** Settings of a PUT or PATCH of a collection. Throws a FailureError (400, 501) that names the member. */
export function readSettings(body: JsonObject): SettingsChange {
  const change: JsonObject = {};
  for (const key of settingObjects) setObject(change, body, key, '');
  setObject(change, body, 'metadata', '');
  const params = optional(body.params) ? {} : objectAt(body.params, 'params');
  for (const [at, given] of Object.entries({ '': body, params })) {
    const onDisk = given.on_disk_payload;
    if (!optional(onDisk)) change.on_disk_payload = readBoolean(onDisk, under(at, 'on_disk_payload'));
    for (const [key, words] of Object.entries({ payload: places, id_tracker: [...places, 'pinned'] })) {
      const place = under(at, key);
      if (!optional(given[key])) change[key] = readMemory(readObject(given[key], place, ['memory']), place, words);
    }
  }
  const vectors = byName(body.vectors, 'vectors', readVectorSettings);
  if (vectors !== null) change.vectors = vectors;
  const sparse = byName(body.sparse_vectors, 'sparse_vectors', readSparseSettings);
  if (sparse !== null) change.sparse_vectors = sparse;
  return change as SettingsChange;
}

/** Settings by name; null: no name sets anything. */
function byName(
  value: JsonValue | undefined,
  at: string,
  read: (params: JsonObject, at: string) => JsonObject,
): JsonObject | null {
  if (optional(value)) return null;
  const all = objectAt(value, at);
  const entries = isParams(all) ? [['', all] as const] : Object.entries(all);
  const set = entries
    .map(([name, params]) => {
      const place = isParams(all) ? at : name === '' ? `${at}[""]` : `${at}.${name.slice(0, 64)}`;
      return [name, read(objectAt(params, place), place)] as const;
    })
    .filter(([, settings]) => Object.keys(settings).length > 0);
  return set.length === 0 ? null : Object.fromEntries(set);
}

function readVectorSettings(params: JsonObject, at: string): JsonObject {
  const settings: JsonObject = {};
  setObject(settings, params, 'hnsw_config', at);
  setObject(settings, params, 'quantization_config', at);
  if (!optional(params.on_disk)) settings.on_disk = readBoolean(params.on_disk, `${at}.on_disk`);
  if (!optional(params.datatype)) settings.datatype = readDatatype(params.datatype, `${at}.datatype`);
  return { ...settings, ...readMemory(params, at) } satisfies VectorSettings as JsonObject;
}

const places = ['cold', 'cached'];

/** Place of the data; `pinned` is for what Qdrant can keep only in memory. */
function readMemory({ memory }: JsonObject, at: string, words: readonly string[] = places): { memory?: string } {
  return optional(memory) ? {} : { memory: readWord(memory, `${at}.memory`, words) };
}

function readSparseSettings(params: JsonObject, at: string): JsonObject {
  const settings: JsonObject = {};
  setObject(settings, params, 'index', at);
  return settings;
}

function readDatatype(value: JsonValue, at: string): string {
  if (value === 'uint8') refuseUnsupported(at, 'numbers that are cut to whole ones are', 'leave it out');
  return readWord(value, at, datatypes);
}

function setObject(into: JsonObject, from: JsonObject, key: string, at: string): void {
  const value = from[key];
  if (optional(value)) return;
  const place = under(at, key);
  // A quantization that was set is taken away so.
  if (key === 'quantization_config' && typeof value === 'string') {
    if (value !== 'Disabled') refuse(place, `expected an object or 'Disabled', got ${shown(value)}`);
    into[key] = value;
  } else into[key] = objectAt(value, place);
}

function objectAt(value: JsonValue | undefined, at: string): JsonObject {
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  return value;
}
