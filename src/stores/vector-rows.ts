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
  /** JSON of its named vectors; null: none. */
  named: string | null;
  /** JSON of its settings; null: none. */
  settings: string | null;
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
    ...namedOf(row.named),
    ...(row.settings !== null && { settings: JSON.parse(row.settings) }),
  };
}

export interface DeletionColumns {
  generation: string;
  size: number;
  distance: string;
  named: string | null;
  dropped_ms: number;
  tries: number;
}

export function deletionOf(row: DeletionColumns): Deletion {
  return {
    generation: row.generation,
    size: Number(row.size),
    distance: row.distance as Deletion['distance'],
    ...namedOf(row.named),
    droppedMs: Number(row.dropped_ms),
    tries: Number(row.tries),
  };
}

function namedOf(text: string | null): Pick<RegisteredCollection, 'named'> {
  return text === null ? {} : { named: JSON.parse(text) };
}

/** Text for a column of JSON. */
export function jsonText(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

export interface IndexColumns {
  key: string;
  type: string;
  /** JSON; null: none. */
  params: string | null;
}

export function payloadIndexOf({ key, type, params }: IndexColumns): PayloadIndex {
  return { key, type: type as PayloadIndex['type'], ...(params !== null && { params: JSON.parse(params) }) };
}

/** Rows of deletions that were due, in the order in which they are done. */
export function oldestFirst(deletions: readonly Deletion[]): Deletion[] {
  return deletions.toSorted((a, b) => a.droppedMs - b.droppedMs || (a.generation < b.generation ? -1 : 1));
}
