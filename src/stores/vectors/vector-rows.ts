import type { Deletion, PayloadIndex, RegisteredCollection } from '../../vectors/registry.ts';
import { rowShape } from '../row-shape.ts';
import type { Row } from '../sql-tables.ts';

const collectionShape = rowShape<Omit<RegisteredCollection, 'named' | 'settings'>>()({
  text: ['generation', 'tenant', 'account', 'name', 'distance'],
  'text?': ['embeddingModel'],
  number: ['size'],
});
const deletionShape = rowShape<Omit<Deletion, 'named'>>()({
  text: ['generation', 'distance'],
  number: ['size', 'droppedMs', 'tries'],
});

export function collectionOf(row: Row): RegisteredCollection {
  const settings = row.settings === null ? {} : { settings: JSON.parse(String(row.settings)) };
  return { ...collectionShape.read(row), ...namedOf(row.named), ...settings };
}

export function deletionOf(row: Row): Deletion {
  return { ...deletionShape.read(row), ...namedOf(row.named) };
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
