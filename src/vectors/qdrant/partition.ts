import { hash } from 'node:crypto';
import type { CollectionSpec } from '../collection.ts';
import type { PointId } from '../point.ts';
import type { RegisteredCollection } from '../registry.ts';

/**
 * Place of one tenant's collection inside a Qdrant collection that many share: under its generation, in every point's
 * payload `{g: generation, id: the caller's id, p: the caller's payload}`.
 */
export interface Partition {
  collection: RegisteredCollection;
  /** The Qdrant collection. */
  physical: string;
  /** Condition that holds for its points alone. */
  mine: QdrantCondition;
  /** The id in Qdrant of a caller's point. */
  pointIdOf(id: PointId): string;
}

export type QdrantCondition = Readonly<Record<string, unknown>>;

export const generationKey = 'g';
export const idKey = 'id';
export const payloadKey = 'p';

export function partitionOf(collection: RegisteredCollection): Partition {
  const namespace = Buffer.from(collection.generation.replaceAll('-', ''), 'hex');
  return {
    collection,
    physical: physicalName(collection),
    mine: ofGeneration(collection.generation),
    pointIdOf: (id) => uuidV5(namespace, String(id)),
  };
}

/** The facts that decide which Qdrant collection it is. */
export type PhysicalShape = Pick<CollectionSpec, 'size' | 'distance' | 'named'> & { generation: string };

/**
 * One for each size and distance; with named vectors one for each set of them. Qdrant counts how rare a term is (`idf`)
 * over its whole collection, where nobody else's points may be: then each of our collections has its own.
 */
export function physicalName(shape: PhysicalShape): string {
  const { size, distance, named, generation } = shape;
  if (named === undefined) return `culvert_${size}_${distance.toLowerCase()}`;
  if (isExclusive(shape)) return `culvert_own_${generation}`;
  const vectors = Object.entries(named).map(([name, spec]) => [name, { ...spec, embeddingModel: null }]);
  const text = JSON.stringify([size, distance, vectors.sort()]);
  return `culvert_named_${hash('sha256', text).slice(0, 32)}`;
}

/** Whether its Qdrant collection holds nobody else's points. */
export function isExclusive({ named = {} }: Pick<PhysicalShape, 'named'>): boolean {
  return Object.values(named).some((spec) => spec.kind === 'sparse' && spec.modifier === 'idf');
}

export function ofGeneration(generation: string): QdrantCondition {
  return { key: generationKey, match: { value: generation } };
}

/** Path in our payload of a path in the caller's. */
export function keyInPayload(path: string): string {
  return `${payloadKey}.${path}`;
}

/** RFC 9562 §5.5: the same name in the same namespace (16 bytes) is the same UUID, for ever. */
function uuidV5(namespace: Buffer, name: string): string {
  const bytes = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'buffer');
  bytes.writeUInt8(0x50 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
