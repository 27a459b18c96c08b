import { FailureError } from '../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { PointId, StoredPoint, Want } from '../point.ts';
import { readPointId } from '../point-id.ts';
import { noCollection } from '../vector-refusals.ts';
import type { PointGroup, VectorStore } from '../vector-store.ts';
import { readName } from './read-collection.ts';
import { optional } from './read-scalars.ts';
import { readWant } from './read-want.ts';

/** A collection whose point of a group's id is shown with the group. */
export interface GroupLookup {
  collection: string;
  want: Want;
}

/** `with_lookup`: the name of a collection, or `{collection, with_payload, with_vectors}`. Null: absent. */
export function readGroupLookup(value: JsonValue | undefined, at: string): GroupLookup | null {
  if (optional(value)) return null;
  if (typeof value === 'string') return { collection: readName(value, at), want: { payload: true, vector: false } };
  if (!isObject(value)) refuse(at, `expected the name of a collection or an object, got ${kindOf(value)}`);
  const lookup = readObject(value, at, ['collection', 'with_payload', 'with_vector', 'with_vectors']);
  return {
    collection: readName(lookup.collection, `${at}.collection`),
    want: readWant(lookup, `${at}.`, { payload: true }),
  };
}

/** The points of the groups' ids, by id. Throws a FailureError (404) for an unknown collection. */
export async function lookUpGroups(
  store: VectorStore,
  tenant: string,
  { collection, want }: GroupLookup,
  groups: readonly PointGroup[],
): Promise<ReadonlyMap<PointGroup['id'], StoredPoint>> {
  if ((await store.find(tenant, collection)) === null) throw noCollection(collection);
  const ids = new Map<PointId, PointGroup['id']>();
  for (const { id } of groups) {
    const point = pointIdOf(id);
    if (point !== null) ids.set(point, id);
  }
  const points = await store.retrieve(tenant, collection, [...ids.keys()], want);
  return new Map(points.map((point) => [knownEntry(ids, point.id), point]));
}

/** Null for a value that cannot be a point's id. */
function pointIdOf(value: string | number): PointId | null {
  try {
    return readPointId(value, 'id');
  } catch (error) {
    if (error instanceof FailureError) return null;
    throw error;
  }
}
