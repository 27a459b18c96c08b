import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { vectorOf } from '../check-vector.ts';
import { type CollectionSpec, namedVectorsMax } from '../collection.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { Want } from '../point.ts';
import { optional, readList } from './read-scalars.ts';

/** Paths in one `with_payload`. */
const payloadPathsMax = 1_000;

/** Keys that `readWant` reads; the last two mean the same. */
export const wantKeys = ['with_payload', 'with_vector', 'with_vectors'] as const;

/** `with_payload` and `with_vector` of a body; `at` as in `searches[2].`, '' at the top. `payload`: when left out. */
export function readWant(body: JsonObject, at: string, { payload }: { payload: boolean }): Want {
  return {
    payload: readPayloadWant(body.with_payload, `${at}with_payload`, payload),
    vector: readVectorWant(oneOf(body, at), `${at}with_vector`),
  };
}

/** Qdrant takes both spellings. */
function oneOf(body: JsonObject, at: string): JsonValue | undefined {
  const { with_vector: one, with_vectors: other } = body;
  if (!optional(one) && !optional(other)) refuse(`${at}with_vectors`, 'give with_vector or with_vectors, not both');
  return optional(one) ? other : one;
}

function readPayloadWant(value: JsonValue | undefined, at: string, fallback: boolean): Want['payload'] {
  if (optional(value)) return fallback;
  if (typeof value === 'boolean') return value;
  if (Array.isArray(value)) return { include: readPaths(value, at) };
  if (typeof value !== 'object') {
    refuse(at, `expected true, false, an array of keys, or {"include"} or {"exclude"}, got ${kindOf(value)}`);
  }
  const { include, exclude } = readObject(value, at, ['include', 'exclude']);
  if (!optional(include) && optional(exclude)) return { include: readPaths(include, `${at}.include`) };
  if (!optional(exclude) && optional(include)) return { exclude: readPaths(exclude, `${at}.exclude`) };
  return refuse(at, 'give either include or exclude');
}

function readPaths(value: JsonValue, at: string): string[] {
  return readList(value, at, { min: 0, max: payloadPathsMax }, (item, place) => readKeyPath(item, place).text);
}

function readVectorWant(value: JsonValue | undefined, at: string): Want['vector'] {
  if (optional(value)) return false;
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) refuse(at, `expected true, false or an array of names, got ${kindOf(value)}`);
  if (value.length > namedVectorsMax + 1) refuse(at, `at most ${namedVectorsMax + 1} names, got ${value.length}`);
  for (const [i, name] of value.entries()) {
    if (typeof name !== 'string') refuse(`${at}[${i}]`, `expected a name, got ${kindOf(name)}`);
  }
  return value.length > 0 && (value as string[]);
}

/** Throws a FailureError (400) for a vector that the collection does not have. */
export function checkWant(spec: CollectionSpec, { vector }: Want, at: string): void {
  if (typeof vector === 'boolean') return;
  for (const name of vector) vectorOf(spec, name, `${at}with_vector`);
}
