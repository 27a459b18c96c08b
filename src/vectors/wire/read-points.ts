import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { vectorNamesOf } from '../collection.ts';
import { readFilter } from '../filter/read-filter.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { NamedColumn, PointBatch, PointId, VectorValue } from '../point.ts';
import { readPointId } from '../point-id.ts';
import { payloadCharsMax } from '../vector-refusals.ts';
import type { UpdateCondition, WriteOperation } from '../vector-store.ts';
import { optional, readWord } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';
import type { VectorReader, VectorSource } from './vector-reader.ts';

/** The rest of the points that one call may write. */
export interface PointBudget {
  left: number;
  readonly max: number;
}

/** `{points: […]}` or `{batch: {ids, vectors, payloads}}`; `at` as in `operations[2].upsert.`, '' at the top. */
export function readUpsert(body: JsonObject, at: string, vectors: VectorReader, budget: PointBudget): WriteOperation {
  const condition = readCondition(body, at);
  const rows = !optional(body.batch) ? readBatch(body.batch, `${at}batch`, budget) : readRows(body, at, budget);
  if (!optional(body.batch) && !optional(body.points)) refuse(`${at}batch`, 'give points or batch, not both');
  // Every length is known to be right before memory is taken for all.
  const read = rows.map((row) => {
    if (optional(row.vector)) return textVectors(row.payload, row, vectors);
    return lookVectors(row.vector, row.vectorAt, vectors);
  });
  const points: PointBatch = {
    ids: rows.map(({ id }) => id),
    ...vectorBatch(read, vectors),
    payloads: rows.map(({ payload, payloadAt }) => (payload === null ? null : payloadJson(payload, payloadAt))),
  };
  return { kind: 'upsert', points, ...condition };
}

/** `{points: [{id, vector}]}`: vectors of points that exist. */
export function readUpdateVectors(
  body: JsonObject,
  at: string,
  vectors: VectorReader,
  budget: PointBudget,
): WriteOperation {
  const condition = readCondition(body, at);
  const points = readPointList(body.points, `${at}points`, budget);
  const read = points.map((point, i) => {
    const place = `${at}points[${i}]`;
    const { id, vector } = readObject(point, place, ['id', 'vector']);
    if (optional(vector)) refuse(`${place}.vector`, 'is missing');
    return { id: readPointId(id, `${place}.id`), looked: lookVectors(vector, `${place}.vector`, vectors) };
  });
  const batch = vectorBatch(
    read.map(({ looked }) => looked),
    vectors,
  );
  return { kind: 'update-vectors', ids: read.map(({ id }) => id), ...batch, ...condition };
}

/** JSON text of a payload that may be stored. */
export function payloadJson(payload: JsonObject, at: string): string {
  const text = JSON.stringify(payload);
  if (text.includes('null') && holdsInfinite(payload)) refuse(at, 'a number is above 1.8e308. Send it as a string');
  if (text.length > payloadCharsMax) {
    refuse(at, `a payload has at most ${payloadCharsMax} characters of JSON, this one has ${text.length}`);
  }
  return text;
}

/** A number such as 1e999, which would be written as null. */
function holdsInfinite(value: JsonValue | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(holdsInfinite);
  return typeof value === 'number' && !Number.isFinite(value);
}

/** Points that a write may change. */
function readCondition(body: JsonObject, at: string): UpdateCondition {
  refuseShardKey(body, at);
  const mode = optional(body.update_mode)
    ? 'upsert'
    : readWord(body.update_mode, `${at}update_mode`, ['upsert', 'insert_only', 'update_only']);
  return {
    ...(!optional(body.update_filter) && { updateFilter: readFilter(body.update_filter, `${at}update_filter`) }),
    ...(mode !== 'upsert' && { updateMode: mode }),
  };
}

export function refuseShardKey(body: JsonObject, at: string): void {
  if (!optional(body.shard_key)) {
    refuseUnsupported(`${at}shard_key`, 'shard keys are', 'leave it out, or make a collection for each key');
  }
}

/** One point of either form, not copied yet. */
interface Row {
  id: PointId;
  vector: JsonValue | undefined;
  payload: JsonObject | null;
  vectorAt: string;
  payloadAt: string;
}

function readRows(body: JsonObject, at: string, budget: PointBudget): Row[] {
  return readPointList(body.points, `${at}points`, budget).map((value, i) => {
    const place = `${at}points[${i}]`;
    const { id, vector, payload } = readObject(value, place, ['id', 'vector', 'payload']);
    const payloadAt = `${place}.payload`;
    return {
      id: readPointId(id, `${place}.id`),
      vector,
      payload: readPayload(payload, payloadAt),
      vectorAt: `${place}.vector`,
      payloadAt,
    };
  });
}

function readBatch(value: JsonValue, at: string, budget: PointBudget): Row[] {
  const batch = readObject(value, at, ['ids', 'vectors', 'payloads']);
  const ids = readPointList(batch.ids, `${at}.ids`, budget);
  const vectors = columnsOf(batch.vectors, `${at}.vectors`, (value, place) => readColumn(value, place, ids.length));
  const payloads = readColumn(batch.payloads, `${at}.payloads`, ids.length);
  return ids.map((id, i) => {
    const payloadAt = `${at}.payloads[${i}]`;
    const { vector, at: vectorAt } = vectors(i);
    return {
      id: readPointId(id, `${at}.ids[${i}]`),
      vector,
      payload: readPayload(payloads?.[i], payloadAt),
      vectorAt,
      payloadAt,
    };
  });
}

function readColumn(value: JsonValue | undefined, at: string, length: number): readonly JsonValue[] | null {
  if (optional(value)) return null;
  if (!Array.isArray(value)) refuse(at, `expected an array, got ${kindOf(value)}`);
  if (value.length !== length) refuse(at, `expected ${length}, one for each id, got ${value.length}`);
  return value;
}

function readPointList(value: JsonValue | undefined, at: string, budget: PointBudget): readonly JsonValue[] {
  if (!Array.isArray(value)) refuse(at, `expected an array, got ${kindOf(value)}`);
  if (value.length === 0) refuse(at, 'must not be empty');
  takePoints(value.length, at, budget);
  return value;
}

/** Counts points against what one call may write; throws a FailureError (400) beyond it. */
export function takePoints(count: number, at: string, budget: PointBudget): void {
  budget.left -= count;
  if (budget.left < 0) refuse(at, `at most ${budget.max} points a call; split the call`);
}

function readPayload(value: JsonValue | undefined, at: string): JsonObject | null {
  if (optional(value)) return null;
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  return value;
}

/** The vectors of one point as a body gives them. */
interface PointVectors {
  /** The unnamed vector when it is dense, and its path. */
  unnamed: { source: VectorSource; at: string } | null;
  named: ReadonlyMap<string, VectorValue>;
}

/** `vector` of a point: the unnamed one itself, or an object of them by name. */
function lookVectors(value: JsonValue, at: string, vectors: VectorReader): PointVectors {
  if (!isObject(value) || isDocument(value, vectors)) return byName([''], vectors, () => [vectors.look(value, at), at]);
  return byName(Object.keys(value), vectors, (name) => {
    const place = name === '' ? `${at}[""]` : `${at}.${name.slice(0, 64)}`;
    return [vectors.look(value[name], place, name), place];
  });
}

/** An object in place of one vector; one with `text` is so unless the collection has a vector of that name. */
function isDocument(value: JsonObject, { collection }: VectorReader): boolean {
  const names = vectorNamesOf(collection);
  if (typeof value.text === 'string') return true;
  return ['indices', 'values', 'image', 'object', 'text'].some((key) => key in value && !names.includes(key));
}

function byName(
  names: readonly string[],
  vectors: VectorReader,
  sourceOf: (name: string) => [VectorSource, string],
): PointVectors {
  let unnamed: PointVectors['unnamed'] = null;
  const named = new Map<string, VectorValue>();
  for (const name of names) {
    const [source, at] = sourceOf(name);
    if (name === '' && vectors.specOf('', at).kind === 'dense') unnamed = { source, at };
    else named.set(name, vectors.readSource(source, at, name));
  }
  return { unnamed, named };
}

/** The payload's own text, where it replaces the vectors whose models are known. */
function textVectors(
  payload: JsonObject | null,
  { vectorAt, payloadAt }: { vectorAt: string; payloadAt: string },
  vectors: VectorReader,
): PointVectors {
  const names = vectors.namesWithModel;
  if (names.length === 0) {
    if (vectorNamesOf(vectors.collection).length > 0) refuse(vectorAt, 'is missing');
    return { unnamed: null, named: new Map() };
  }
  const text = payload?.text;
  if (typeof text !== 'string' || text === '') {
    refuse(vectorAt, `is missing, and there is no text to embed in ${payloadAt}.text`);
  }
  const at = `${payloadAt}.text`;
  return byName(names, vectors, (name) => [vectors.text(text, at, name), at]);
}

/** Columns of all points: unnamed vectors row after row, and a column for each name that one of them has. */
function vectorBatch(
  rows: readonly PointVectors[],
  vectors: VectorReader,
): { vectors: Float32Array; without?: ReadonlySet<number>; named?: NamedColumn[] } {
  const { size } = vectors.collection;
  const absent = new Set(rows.flatMap(({ unnamed }, i) => (unnamed === null ? [i] : [])));
  const numbers = new Float32Array(absent.size === rows.length ? 0 : rows.length * size);
  rows.forEach(({ unnamed }, i) => {
    if (unnamed !== null) vectors.place(unnamed.source, numbers.subarray(i * size, (i + 1) * size), unnamed.at);
  });
  const names = new Set(rows.flatMap(({ named }) => [...named.keys()]));
  const named = Array.from(names, (name) => ({ name, values: rows.map((row) => row.named.get(name) ?? null) }));
  return {
    vectors: numbers,
    ...(size > 0 && absent.size > 0 && { without: absent }),
    ...(named.length > 0 && { named }),
  };
}

/** `{ids, vectors, payloads}`'s vectors: an array for each id, or for each name an array. */
function columnsOf(
  value: JsonValue | undefined,
  at: string,
  readColumn: (value: JsonValue | undefined, at: string) => readonly JsonValue[] | null,
): (i: number) => { vector: JsonValue | undefined; at: string } {
  if (!isObject(value)) {
    const column = readColumn(value, at);
    return (i) => ({ vector: column?.[i], at: `${at}[${i}]` });
  }
  const columns = Object.entries(value).map(([name, one]) => {
    return [name, readColumn(one, name === '' ? `${at}[""]` : `${at}.${name.slice(0, 64)}`)] as const;
  });
  return (i) => {
    const given = columns.filter(([, column]) => !optional(column?.[i]));
    return { vector: Object.fromEntries(given.map(([name, column]) => [name, column![i]!])), at };
  };
}
