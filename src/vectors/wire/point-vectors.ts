import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { vectorNamesOf } from '../collection.ts';
import { refuse } from '../filter/refuse.ts';
import type { NamedColumn, VectorValue } from '../point.ts';
import { optional } from './read-scalars.ts';
import type { VectorReader, VectorSource } from './vector-reader.ts';

/** The vectors of one point as a body gives them. */
export interface PointVectors {
  /** The unnamed vector when it is dense, and its path. */
  unnamed: { source: VectorSource; at: string } | null;
  named: ReadonlyMap<string, VectorValue>;
}

/** `vector` of a point: the unnamed one itself, or an object of them by name. */
export function lookVectors(value: JsonValue, at: string, vectors: VectorReader): PointVectors {
  if (!isObject(value) || isDocument(value, vectors)) return lookByName([['', value]], at, vectors, () => at);
  return lookByName(Object.entries(value), at, vectors, (name) => (name === '' ? `${at}[""]` : `${at}.${name}`));
}

/** An object in place of one vector; one with `text` is so unless the collection has a vector of that name. */
function isDocument(value: JsonObject, { collection }: VectorReader): boolean {
  const names = vectorNamesOf(collection);
  if (typeof value.text === 'string') return true;
  return ['indices', 'values', 'image', 'object', 'text'].some((key) => key in value && !names.includes(key));
}

function lookByName(
  entries: readonly (readonly [string, JsonValue | undefined])[],
  _at: string,
  vectors: VectorReader,
  placeOf: (name: string) => string,
): PointVectors {
  let unnamed: PointVectors['unnamed'] = null;
  const named = new Map<string, VectorValue>();
  for (const [name, value] of entries) {
    const at = placeOf(name.slice(0, 64));
    if (name === '' && vectors.specOf('', at).kind === 'dense') unnamed = { source: vectors.look(value, at), at };
    else named.set(name, vectors.read(value, at, name));
  }
  return { unnamed, named };
}

/** The payload's own text, where it replaces the vectors whose models are known. */
export function textVectors(
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
  let unnamed: PointVectors['unnamed'] = null;
  const named = new Map<string, VectorValue>();
  for (const name of names) {
    const source = vectors.text(text, at, name);
    if (name === '') unnamed = { source, at };
    else named.set(name, vectors.readSource(source, at, name));
  }
  return { unnamed, named };
}

/** Columns of all points: unnamed vectors row after row, and a column for each name that one of them has. */
export function vectorBatch(
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
export function columnsOf(
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
