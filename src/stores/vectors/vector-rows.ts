import type { Deletion, PayloadIndex, RegisteredCollection } from '../../vectors/registry.ts';
import type { Row } from '../sql-tables.ts';

export function collectionOf(row: Row): RegisteredCollection {
  return {
    generation: String(row.generation),
    tenant: String(row.tenant),
    account: String(row.account),
    name: String(row.name),
    size: Number(row.size),
    distance: String(row.distance) as RegisteredCollection['distance'],
    embeddingModel: row.embedding_model === null ? null : String(row.embedding_model),
    ...namedOf(row.named),
    ...(row.settings !== null && { settings: JSON.parse(String(row.settings)) }),
  };
}

export function deletionOf(row: Row): Deletion {
  return {
    generation: String(row.generation),
    size: Number(row.size),
    distance: String(row.distance) as Deletion['distance'],
    ...namedOf(row.named),
    droppedMs: Number(row.dropped_ms),
    tries: Number(row.tries),
  };
}

/** `text`: JSON of a collection's named vectors; null: none. */
function namedOf(text: unknown): Pick<RegisteredCollection, 'named'> {
  return text === null ? {} : { named: JSON.parse(String(text)) };
}

/** Text for a column of JSON. */
export function jsonText(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

export function payloadIndexOf({ key, type, params }: Row): PayloadIndex {
  return {
    key: String(key),
    type: String(type) as PayloadIndex['type'],
    ...(params !== null && { params: JSON.parse(String(params)) }),
  };
}

/** Rows of deletions that were due, in the order in which they are done. */
export function oldestFirst(deletions: readonly Deletion[]): Deletion[] {
  return deletions.toSorted((a, b) => a.droppedMs - b.droppedMs || (a.generation < b.generation ? -1 : 1));
}
