import { FailureError, invalid } from '../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { directMember } from '../kernel/known-entry.ts';
import { setMember } from './filter/payload-change.ts';

/**
 * Settings of Qdrant's clients for an engine of Qdrant's kind, in its words: index, quantization, storage, number type.
 * None of them changes anything here; they are stored and shown again. `metadata` is the caller's own.
 */
export interface CollectionSettings {
  metadata?: JsonObject;
  hnsw_config?: JsonObject;
  quantization_config?: JsonObject;
  optimizers_config?: JsonObject;
  wal_config?: JsonObject;
  on_disk_payload?: boolean;
  payload?: { memory?: string };
  id_tracker?: { memory?: string };
  /** By the vector's name; '' is the unnamed one. */
  vectors?: Readonly<Record<string, VectorSettings>>;
  sparse_vectors?: Readonly<Record<string, { index?: JsonObject }>>;
}

export interface VectorSettings {
  on_disk?: boolean;
  datatype?: string;
  memory?: string;
  hnsw_config?: JsonObject;
  quantization_config?: JsonObject;
}

/** A change of settings: `Disabled` takes a quantization away, a null in metadata its key. */
export interface SettingsChange extends Omit<CollectionSettings, 'quantization_config' | 'vectors'> {
  quantization_config?: JsonObject | 'Disabled';
  vectors?: Readonly<Record<string, VectorChange>>;
}

type VectorChange = Omit<VectorSettings, 'quantization_config'> & { quantization_config?: JsonObject | 'Disabled' };

/** Characters of a collection's settings as JSON, with its metadata. */
const settingsCharsMax = 65_536;

/** Undefined: there are none. Throws a FailureError (400) when they become too long. */
export function changedSettings(
  before: CollectionSettings | undefined,
  change: SettingsChange,
): CollectionSettings | undefined {
  const after = merged((before ?? {}) as JsonObject, change as JsonObject) as CollectionSettings;
  const chars = JSON.stringify(after).length;
  if (chars > settingsCharsMax) {
    const message = `metadata: a collection keeps ${settingsCharsMax} characters of metadata and settings as JSON, got ${chars}`;
    throw new FailureError(invalid('metadata', message));
  }
  return Object.keys(after).length === 0 ? undefined : after;
}

/** Objects of Qdrant's own are merged member by member; a quantization, and what metadata holds, is one value. */
function merged(before: JsonObject, change: JsonObject): JsonObject {
  const after: JsonObject = { ...before };
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) continue;
    const given = key === 'quantization_config' && value === 'Disabled' ? null : value;
    const next = key === 'metadata' ? metadata(after, given) : given;
    const isWhole = key === 'quantization_config' || key === 'metadata';
    const known = directMember(after, key);
    const result = !isWhole && isObject(known) && isObject(next) ? merged(known, next) : next;
    if (result === null || (isObject(result) && Object.keys(result).length === 0)) delete after[key];
    else setMember(after, key, result);
  }
  return after;
}

function metadata({ metadata: before }: JsonObject, change: JsonValue): JsonObject {
  const members = Object.entries({ ...(before as JsonObject | undefined), ...(change as JsonObject) });
  return Object.fromEntries(members.filter(([, value]) => value !== null));
}
