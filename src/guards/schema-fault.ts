import { isObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { uriText } from '../kernel/web/uri-text.ts';

export interface SchemaFault {
  path: (string | number)[];
  message: string;
}

const types = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);
/** Members whose objects have schemas by names that the author chose. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Members that hold values, not schemas. */
const values = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired']);
const bytesMax = 65_536;

/** The first thing in a JSON schema that nothing could meet or read, with its place; null: there is none. */
export function schemaFault(schema: JsonValue): SchemaFault | null {
  if (JSON.stringify(schema).length > bytesMax) return { path: [], message: `expected at most ${bytesMax} bytes` };
  const fault = faultsIn(schema, []).next().value ?? null;
  // An id begins another schema, where places count from it.
  if (fault !== null || JSON.stringify(schema).includes('"$id"')) return fault;
  return unknownPlace(schema) ?? endless(schema);
}

/** Members whose schemas read the very value that the schema around them reads. */
const inPlace: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', '$ref'];

interface PlacedSchema {
  schema: JsonObject;
  path: SchemaFault['path'];
}

/** A reference that leads back to itself while no value is entered: no check would come to its end. */
function endless(root: JsonValue): SchemaFault | null {
  const seen = new Map<JsonObject, 'open' | 'done'>();
  const look = ({ schema, path }: PlacedSchema): SchemaFault | null => {
    const state = seen.get(schema);
    if (state === 'done') return null;
    if (state === 'open') return { path, message: 'expected a reference that does not lead back to itself' };
    seen.set(schema, 'open');
    for (const next of samePlace(schema, root, path)) {
      const fault = look(next);
      if (fault !== null) return fault;
    }
    seen.set(schema, 'done');
    return null;
  };
  for (const placed of schemasIn(root, [])) {
    const fault = look(placed);
    if (fault !== null) return fault;
  }
  return null;
}

function* samePlace(schema: JsonObject, root: JsonValue, path: SchemaFault['path']): Generator<PlacedSchema> {
  for (const name of inPlace) {
    const value = schema[name];
    const at = [...path, name];
    const found = name === '$ref' ? placeOf(root, String(value)) : value;
    const isMany = Array.isArray(found) || (name === 'dependentSchemas' && isObject(found));
    const each = isMany ? Object.entries(found) : [['', found] as const];
    for (const [key, one] of each) {
      if (isObject(one))
        yield { schema: one, path: key === '' ? at : [...at, Array.isArray(found) ? Number(key) : key] };
    }
  }
}

/** A schema, and those within it. */
function* schemasIn(schema: JsonValue | undefined, path: SchemaFault['path']): Generator<PlacedSchema> {
  if (!isObject(schema) && !Array.isArray(schema)) return;
  if (isObject(schema)) yield { schema, path };
  for (const [name, value] of Object.entries(schema)) {
    if (values.has(name) && isObject(schema)) continue;
    const at = [...path, Array.isArray(schema) ? Number(name) : name];
    if (!named.has(name) || !isObject(value)) yield* schemasIn(value, at);
    else for (const [key, one] of Object.entries(value)) yield* schemasIn(one, [...at, key]);
  }
}

/** A reference to a place that is not there: no answer could be held to it. */
function unknownPlace(root: JsonValue): SchemaFault | null {
  for (const { schema, path } of schemasIn(root, [])) {
    const { $ref } = schema;
    if (typeof $ref === 'string' && placeOf(root, $ref) === undefined) {
      return { path: [...path, '$ref'], message: 'expected a place that is in this schema' };
    }
  }
  return null;
}

/** Target of a reference: the whole, a place in it, or a schema with that `$anchor`. */
function placeOf(root: JsonValue, ref: string): JsonValue | undefined {
  if (ref === '#') return root;
  if (ref.startsWith('#/')) return atPointer(root, ref);
  for (const { schema } of schemasIn(root, [])) if (schema.$anchor === uriText(ref.slice(1))) return schema;
  return undefined;
}

function atPointer(root: JsonValue, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const part of pointer.slice(2).split('/')) {
    const name = uriText(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if ((!isObject(at) && !Array.isArray(at)) || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, JsonValue | undefined>>)[name];
  }
  return at;
}

function* faultsIn(schema: JsonValue | undefined, path: SchemaFault['path']): Generator<SchemaFault, undefined> {
  if (!isObject(schema) && !Array.isArray(schema)) return;
  for (const [name, value] of Object.entries(schema)) {
    yield* memberFaults(name, value, [...path, Array.isArray(schema) ? Number(name) : name]);
  }
}

function* memberFaults(name: string, value: JsonValue | undefined, path: SchemaFault['path']): Generator<SchemaFault> {
  if (values.has(name)) return;
  if (name === 'type') {
    const isKnown = [value].flat().every((type) => typeof type === 'string' && types.has(type));
    if (!isKnown) yield { path, message: `expected ${[...types].join(', ')}` };
  } else if (name === '$ref') {
    const isHere = typeof value === 'string' && value.startsWith('#');
    if (!isHere) yield { path, message: 'expected a place in this schema, such as #/$defs/name' };
  } else if (name === '$dynamicRef' || name === '$recursiveRef') {
    yield { path, message: 'expected $ref: the check does not follow this one' };
  } else if (name === 'pattern') {
    if (!isPattern(value)) yield { path, message: patternMessage };
  } else if (named.has(name) && isObject(value)) {
    for (const [key, one] of Object.entries(value)) {
      if (name === 'patternProperties' && !isPattern(key)) yield { path: [...path, key], message: patternMessage };
      yield* faultsIn(one, [...path, key]);
    }
  } else yield* faultsIn(value, path);
}

const patternMessage = 'expected a regular expression of JavaScript with the flag u';

function isPattern(value: JsonValue | undefined): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') !== null;
  } catch {
    return false;
  }
}
