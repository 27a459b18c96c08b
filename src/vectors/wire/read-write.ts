import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { namedVectorsMax, vectorNameCharsMax } from '../collection.ts';
import { readFilter } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { readPointId } from '../point-id.ts';
import type { Selection, WriteOperation } from '../vector-store.ts';
import {
  type PointBudget,
  payloadJson,
  readUpdateVectors,
  readUpsert,
  refuseShardKey,
  takePoints,
} from './read-points.ts';
import { optional, readList } from './read-scalars.ts';
import type { VectorReader } from './vector-reader.ts';

/** Operations in one `points/batch`. */
const operationsMax = 1_000;

const selectionKeys = ['points', 'filter', 'shard_key'];
const upsertKeys = ['points', 'batch', 'shard_key', 'update_filter', 'update_mode'];
const modelKeys = ['model', 'embedding_model'];

type ReadOperation = (body: JsonObject, at: string, vectors: VectorReader, budget: PointBudget) => WriteOperation;

/** By Qdrant's names in `points/batch`; each is also a separate call. `keys`: of the body. */
const writeOperations = {
  upsert: { keys: upsertKeys, read: readUpsert },
  delete: {
    keys: selectionKeys,
    read: (body, at, _, budget) => ({ kind: 'delete', which: readSelection(body, at, budget) }),
  },
  set_payload: {
    keys: ['payload', 'key', ...selectionKeys],
    read: (body, at, _, budget) => readSetPayload(body, at, budget),
  },
  overwrite_payload: {
    keys: ['payload', 'key', ...selectionKeys],
    read: (body, at, _, budget) => readOverwritePayload(body, at, budget),
  },
  delete_payload: {
    keys: ['keys', ...selectionKeys],
    read: (body, at, _, budget) => readDeletePayload(body, at, budget),
  },
  clear_payload: {
    keys: selectionKeys,
    read: (body, at, _, budget) => ({ kind: 'clear-payload', which: readSelection(body, at, budget) }),
  },
  update_vectors: { keys: ['points', 'shard_key', 'update_filter'], read: readUpdateVectors },
  delete_vectors: { keys: ['vector', ...selectionKeys], read: readDeleteVectors },
} as const satisfies Record<string, { keys: readonly string[]; read: ReadOperation }>;

export type WriteName = keyof typeof writeOperations;

function readDeleteVectors(body: JsonObject, at: string, vectors: VectorReader, budget: PointBudget): WriteOperation {
  const which = readSelection(body, at, budget);
  const names = readList(body.vector, `${at}vector`, { min: 1, max: namedVectorsMax + 1 }, (item, place) => {
    if (typeof item !== 'string') refuse(place, `expected the name of a vector, got ${kindOf(item)}`);
    vectors.specOf(item.slice(0, vectorNameCharsMax + 1), place);
    return item;
  });
  return { kind: 'delete-vectors', which, names: [...new Set(names)] };
}

/** Body of a call that does one operation. */
export function readOneWrite(
  name: WriteName,
  body: JsonObject,
  vectors: VectorReader,
  budget: PointBudget,
): WriteOperation {
  const { keys, read }: { keys: readonly string[]; read: ReadOperation } = writeOperations[name];
  const embeds = name === 'upsert' || name === 'update_vectors';
  readObject(body, 'body', embeds ? [...keys, ...modelKeys] : keys);
  return read(body, '', vectors, budget);
}

/** `{operations: [{upsert: …}, {delete: …}]}`, done in order. */
export function readWrites(body: JsonObject, vectors: VectorReader, budget: PointBudget): WriteOperation[] {
  const { operations } = readObject(body, 'body', ['operations', ...modelKeys]);
  return readList(operations, 'operations', { min: 1, max: operationsMax }, (item, at) =>
    readOperation(item, at, vectors, budget),
  );
}

function readOperation(item: JsonValue, at: string, vectors: VectorReader, budget: PointBudget): WriteOperation {
  const names = Object.keys(writeOperations) as WriteName[];
  const operation = readObject(item, at, names);
  const [name, ...others] = Object.keys(operation) as WriteName[];
  if (name === undefined || others.length > 0) refuse(at, `expected one of ${names.join(', ')}`);
  const { keys, read }: { keys: readonly string[]; read: ReadOperation } = writeOperations[name];
  const body = readObject(operation[name], `${at}.${name}`, keys);
  return read(body, `${at}.${name}.`, vectors, budget);
}

/** Payload keys that one operation removes. */
const deletedKeysMax = 1_000;

/** `points` (ids) or `filter` of a body, one of them; `at` as in `operations[2].delete.`, '' at the top. */
function readSelection(body: JsonObject, at: string, budget: PointBudget): Selection {
  refuseShardKey(body, at);
  const { points, filter } = body;
  if (!optional(points) && !optional(filter)) refuse(`${at}filter`, 'give points or filter, not both');
  if (!optional(filter)) return { filter: readFilter(filter, `${at}filter`) };
  if (optional(points)) refuse(`${at}points`, 'is missing: give the ids of points, or a filter');
  const ids = readList(points, `${at}points`, { min: 0, max: Number.POSITIVE_INFINITY }, readPointId);
  takePoints(ids.length, `${at}points`, budget);
  return { ids };
}

function readSetPayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  const which = readSelection(body, at, budget);
  const payload = readPayloadText(body.payload, `${at}payload`);
  const key = optional(body.key) ? null : readKeyPath(body.key, `${at}key`).text;
  return { kind: 'set-payload', which, payload, key };
}

function readOverwritePayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  if (!optional(body.key)) refuse(`${at}key`, 'replaces the whole payload; to set a part of it, use POST');
  return {
    kind: 'overwrite-payload',
    which: readSelection(body, at, budget),
    payload: readPayloadText(body.payload, `${at}payload`),
  };
}

function readDeletePayload(body: JsonObject, at: string, budget: PointBudget): WriteOperation {
  const which = readSelection(body, at, budget);
  const keys = readList(body.keys, `${at}keys`, { min: 1, max: deletedKeysMax }, readKeyPath).map(({ text }) => text);
  return { kind: 'delete-payload', which, keys };
}

function readPayloadText(value: JsonValue | undefined, at: string): string {
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  return payloadJson(value, at);
}
