import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

export interface NarrowedSchema {
  schema: JsonObject;
  /** A caller's keyword was left out or changed: the answer may be one that the caller's schema refuses, or tighter. */
  narrowed: boolean;
}

/** One walk through a schema. */
export interface Narrowing {
  narrowed: boolean;
  /** Narrows one object of the schema. */
  readonly narrow: (schema: JsonObject, run: Narrowing) => JsonObject;
}

/** The schema as `narrow` leaves it; the caller's object is not changed. */
export function narrowedBy(narrow: Narrowing['narrow'], schema: JsonObject): NarrowedSchema {
  const run: Narrowing = { narrowed: false, narrow };
  return { schema: narrow(schema, run), narrowed: run.narrowed };
}

export function narrowValue(value: JsonValue, run: Narrowing): JsonValue {
  if (Array.isArray(value)) return value.map((item) => narrowValue(item, run));
  return isObject(value) ? run.narrow(value, run) : value;
}

/** The same for the members of `properties` and of definitions, whose names are the caller's. */
export function narrowNamed(value: JsonValue, run: Narrowing): JsonValue {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, narrowValue(inner ?? null, run)]));
}
