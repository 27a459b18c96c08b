import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { CollectionSpec } from '../collection.ts';
import { readObject, refuse } from '../filter/refuse.ts';
import type { WriteOperation } from '../store.ts';
import { type PointBudget, readUpdateVectors, readUpsert } from './read-points.ts';
import { readList } from './read-scalars.ts';
import { readDeletePayload, readOverwritePayload, readSelection, readSetPayload } from './read-selection.ts';
import { refuseUnsupported } from './unsupported.ts';
import type { VectorReader } from './vector-reader.ts';

/** Operations in one `points/batch`. */
const operationsMax = 1_000;

const selectionKeys = ['points', 'filter', 'shard_key'];
const upsertKeys = ['points', 'batch', 'shard_key', 'update_filter', 'update_mode'];
const modelKeys = ['model', 'embedding_model'];

type ReadOperation = (
  body: JsonObject,
  at: string,
  spec: CollectionSpec,
  vectors: VectorReader,
  budget: PointBudget,
) => WriteOperation;

/** By Qdrant's names in `points/batch`; each is a call of its own too. `keys`: of the body. */
const writeOperations = {
  upsert: {
    keys: upsertKeys,
    read: (body, at, { size }, vectors, budget) => readUpsert(body, at, size, vectors, budget),
  },
  delete: {
    keys: selectionKeys,
    read: (body, at, _, __, budget) => ({ kind: 'delete', which: readSelection(body, at, budget) }),
  },
  set_payload: {
    keys: ['payload', 'key', ...selectionKeys],
    read: (body, at, _, __, budget) => readSetPayload(body, at, budget),
  },
  overwrite_payload: {
    keys: ['payload', 'key', ...selectionKeys],
    read: (body, at, _, __, budget) => readOverwritePayload(body, at, budget),
  },
  delete_payload: {
    keys: ['keys', ...selectionKeys],
    read: (body, at, _, __, budget) => readDeletePayload(body, at, budget),
  },
  clear_payload: {
    keys: selectionKeys,
    read: (body, at, _, __, budget) => ({ kind: 'clear-payload', which: readSelection(body, at, budget) }),
  },
  update_vectors: {
    keys: ['points', 'shard_key', 'update_filter'],
    read: (body, at, { size }, vectors, budget) => readUpdateVectors(body, at, size, vectors, budget),
  },
  delete_vectors: {
    keys: ['vector', ...selectionKeys],
    read: (_, at) =>
      refuseUnsupported(`${at}vector`, 'points without a vector are', 'delete the points, or write another vector'),
  },
} as const satisfies Record<string, { keys: readonly string[]; read: ReadOperation }>;

export type WriteName = keyof typeof writeOperations;

/** Body of a call that does one operation. */
export function readOneWrite(
  name: WriteName,
  body: JsonObject,
  spec: CollectionSpec,
  vectors: VectorReader,
  budget: PointBudget,
): WriteOperation {
  const { keys, read }: { keys: readonly string[]; read: ReadOperation } = writeOperations[name];
  const embeds = name === 'upsert' || name === 'update_vectors';
  readObject(body, 'body', embeds ? [...keys, ...modelKeys] : keys);
  return read(body, '', spec, vectors, budget);
}

/** `{operations: [{upsert: …}, {delete: …}]}`, done in order. */
export function readWrites(
  body: JsonObject,
  spec: CollectionSpec,
  vectors: VectorReader,
  budget: PointBudget,
): WriteOperation[] {
  const { operations } = readObject(body, 'body', ['operations', ...modelKeys]);
  return readList(operations, 'operations', { min: 1, max: operationsMax }, (item, at) =>
    readOperation(item, at, spec, vectors, budget),
  );
}

function readOperation(
  item: JsonValue,
  at: string,
  spec: CollectionSpec,
  vectors: VectorReader,
  budget: PointBudget,
): WriteOperation {
  const names = Object.keys(writeOperations) as WriteName[];
  const operation = readObject(item, at, names);
  const [name, ...others] = Object.keys(operation) as WriteName[];
  if (name === undefined || others.length > 0) refuse(at, `expected one of ${names.join(', ')}`);
  const { keys, read }: { keys: readonly string[]; read: ReadOperation } = writeOperations[name];
  const body = readObject(operation[name], `${at}.${name}`, keys);
  return read(body, `${at}.${name}.`, spec, vectors, budget);
}
