import type { Deletion, PayloadIndex, RegisteredCollection } from '../vectors/registry.ts';

/** Columns as both databases give them. */
export interface CollectionColumns {
  generation: string;
  tenant: string;
  account: string;
  name: string;
  size: number;
  distance: string;
  embedding_model: string | null;
}

export function collectionOf(row: CollectionColumns): RegisteredCollection {
  return {
    generation: row.generation,
    tenant: row.tenant,
    account: row.account,
    name: row.name,
    size: Number(row.size),
    distance: row.distance as RegisteredCollection['distance'],
    embeddingModel: row.embedding_model,
  };
}

export interface DeletionColumns {
  generation: string;
  size: number;
  distance: string;
  dropped_ms: number;
  tries: number;
}

export function deletionOf(row: DeletionColumns): Deletion {
  return {
    generation: row.generation,
    size: Number(row.size),
    distance: row.distance as Deletion['distance'],
    droppedMs: Number(row.dropped_ms),
    tries: Number(row.tries),
  };
}

export interface IndexColumns {
  key: string;
  type: string;
}

export function payloadIndexOf({ key, type }: IndexColumns): PayloadIndex {
  return { key, type: type as PayloadIndex['type'] };
}

/** Rows of deletions that were due, in the order in which they are done. */
export function oldestFirst(deletions: readonly Deletion[]): Deletion[] {
  return deletions.toSorted((a, b) => a.droppedMs - b.droppedMs || (a.generation < b.generation ? -1 : 1));
}
