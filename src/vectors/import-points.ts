import { FailureError, invalid } from '../kernel/failure.ts';
import type { ExportedCollection, ExportedPoint } from './operator.ts';
import { readPointId } from './point-id.ts';
import { noCollection } from './refusals.ts';
import type { Owner, VectorStore } from './store.ts';

type Importing = Pick<VectorStore, 'find' | 'create' | 'indexPayload' | 'changeAliases' | 'write'>;

/** See `VectorOperator.importCollection`. */
export async function importCollection(store: Importing, owner: Owner, collection: ExportedCollection): Promise<void> {
  const { name, vector_size: size, distance, embedding_model: embeddingModel } = collection;
  const known = await store.find(owner.tenant, name);
  if (known === null) await store.create(owner, { name, size, distance, embeddingModel });
  else if (
    known.name !== name ||
    known.size !== size ||
    known.distance !== distance ||
    known.embeddingModel !== embeddingModel
  ) {
    const message = `Collection '${name}' exists and is another: ${known.size} numbers, ${known.distance}, embedding model ${known.embeddingModel ?? 'none'}. Delete it, or import for another tenant.`;
    throw new FailureError({ kind: 'conflict', message });
  }
  for (const [key, type] of Object.entries(collection.payload_indexes)) {
    await store.indexPayload(owner.tenant, name, key, type);
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
  const vectors = new Float32Array(points.length * spec.size);
  const ids = points.map(({ id, vector }, at) => {
    if (vector.length !== spec.size) {
      refuse(`points[${at}].vector`, `expected ${spec.size} numbers, got ${vector.length}`);
    }
    vectors.set(vector, at * spec.size);
    return readPointId(id, `points[${at}].id`);
  });
  const tooLarge = vectors.findIndex((value) => !Number.isFinite(value));
  if (tooLarge >= 0) {
    const at = `points[${Math.floor(tooLarge / spec.size)}].vector[${tooLarge % spec.size}]`;
    refuse(at, 'expected a number that a 32-bit float can hold');
  }
  const payloads = points.map(({ payload }) => (payload === null ? null : JSON.stringify(payload)));
  await store.write(tenant, collection, [{ kind: 'upsert', points: { ids, vectors, payloads } }]);
}

function refuse(at: string, message: string): never {
  throw new FailureError(invalid(at, `${at}: ${message}`));
}
