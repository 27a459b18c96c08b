import { hash } from 'node:crypto';
import type { Distance } from '../collection.ts';
import type { PointId } from '../point.ts';
import type { RegisteredCollection } from '../registry.ts';

/**
 * Where one tenant's collection is inside of a Qdrant collection that many share: under its generation, in every
 * point's payload `{g: generation, id: the caller's id, p: the caller's payload}`.
 */
export interface Partition {
  collection: RegisteredCollection;
  /** The Qdrant collection. */
  physical: string;
  /** Condition that holds for its points alone. */
  mine: QdrantCondition;
  /** The id that a point of the caller's has in Qdrant. */
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
    physical: physicalName(collection.size, collection.distance),
    mine: ofGeneration(collection.generation),
    pointIdOf: (id) => uuidV5(namespace, String(id)),
  };
}

export function physicalName(size: number, distance: Distance): string {
  return `culvert_${size}_${distance.toLowerCase()}`;
}

export function ofGeneration(generation: string): QdrantCondition {
  return { key: generationKey, match: { value: generation } };
}

/** Where a path of the caller's payload stands in ours. */
export function keyInPayload(path: string): string {
  return `${payloadKey}.${path}`;
}

/** RFC 9562 §5.5: the same name in the same namespace (16 bytes) is the same UUID, for ever. */
function uuidV5(namespace: Buffer, name: string): string {
  const bytes = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'buffer');
  bytes[6] = 0x50 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
