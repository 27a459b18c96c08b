import { isDeepStrictEqual } from 'node:util';
import { FailureError } from '../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { vectorOf } from './check-vector.ts';
import type { CollectionSpec } from './collection.ts';
import { changedSettings } from './collection-settings.ts';
import type { ExportedCollection, ExportedPoint } from './export-lines.ts';
import { refuse } from './filter/refuse.ts';
import type { StoredPoint } from './point.ts';
import { readPointId } from './point-id.ts';
import { batchOf } from './stored-batch.ts';
import { noCollection } from './vector-refusals.ts';
import type { Owner, VectorStore } from './vector-store.ts';
import { readSettings } from './wire/read-settings.ts';
import { readVectorForm } from './wire/read-vector-forms.ts';

type Importing = Pick<VectorStore, 'find' | 'create' | 'indexPayload' | 'changeAliases' | 'write'>;

/** See `VectorOperator.importCollection`. */
export async function importCollection(store: Importing, owner: Owner, collection: ExportedCollection): Promise<void> {
  const { name, vector_size: size, distance, embedding_model: embeddingModel, named_vectors: named } = collection;
  const spec: CollectionSpec = { name, size, distance, embeddingModel, ...(named !== undefined && { named }) };
  const settings = changedSettings(undefined, readSettings((collection.settings ?? {}) as JsonObject));
  const known = await store.find(owner.tenant, name);
  if (known === null) await store.create(owner, { ...spec, ...(settings !== undefined && { settings }) });
  else if (!isDeepStrictEqual({ ...known, settings: undefined }, { ...spec, settings: undefined })) {
    const message = `Collection '${name}' exists and differs: ${known.size} numbers, ${known.distance}, embedding model ${known.embeddingModel ?? 'none'}. Delete it, or import for another tenant.`;
    throw new FailureError({ kind: 'conflict', message });
  }
  for (const [key, type] of Object.entries(collection.payload_indexes)) {
    await store.indexPayload(owner.tenant, name, key, type, collection.text_indexes?.[key]);
  }
  if (collection.aliases.length === 0) return;
  const changes = collection.aliases.map((alias) => ({ kind: 'create', alias, collection: name }) as const);
  await store.changeAliases(owner.tenant, changes);
}

/** See `VectorOperator.importPoints`. */
export async function importPoints(
  store: Importing,
  tenant: string,
  collection: string,
  points: readonly ExportedPoint[],
): Promise<void> {
  const spec = await store.find(tenant, collection);
  if (spec === null) throw noCollection(collection);
  const read = points.map((point, at) => storedPoint(point, spec, `points[${at}]`));
  await store.write(tenant, collection, [{ kind: 'upsert', points: batchOf(read, spec) }]);
}

function storedPoint(
  { id, vector, vectors = {}, payload }: ExportedPoint,
  spec: CollectionSpec,
  at: string,
): StoredPoint {
  if (vector.length !== 0 && vector.length !== spec.size) {
    refuse(`${at}.vector`, `expected ${spec.size} numbers, got ${vector.length}`);
  }
  const named = Object.entries(vectors).map(([name, value]) => {
    const place = `${at}.vectors.${name.slice(0, 64)}`;
    return [name, readVectorForm(vectorOf(spec, name, place), value as JsonValue, place)] as const;
  });
  return {
    id: readPointId(id, `${at}.id`),
    vector: vector.length === 0 ? null : floatsOf(vector, `${at}.vector`),
    named: Object.fromEntries(named),
    payload,
  };
}

function floatsOf(vector: readonly number[], at: string): Float32Array {
  const numbers = Float32Array.from(vector);
  const tooLarge = numbers.findIndex((value) => !Number.isFinite(value));
  if (tooLarge >= 0) refuse(`${at}[${tooLarge}]`, 'expected a number that a 32-bit float can hold');
  return numbers;
}
