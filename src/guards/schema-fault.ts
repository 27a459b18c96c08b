import { isObject, type JsonValue } from '../kernel/json.ts';

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
  return fault ?? (JSON.stringify(schema).includes('"$id"') ? null : unknownPlace(schema, schema, []));
}

/** A reference to a place that is not there: no answer could be held to it. Those with names of places are not looked at. */
function unknownPlace(schema: JsonValue | undefined, root: JsonValue, path: SchemaFault['path']): SchemaFault | null {
  if (!isObject(schema) && !Array.isArray(schema)) return null;
  for (const [name, value] of Object.entries(schema)) {
    const at = [...path, Array.isArray(schema) ? Number(name) : name];
    if (values.has(name)) continue;
    if (name === '$ref' && typeof value === 'string' && value.startsWith('#/') && !isThere(root, value)) {
      return { path: at, message: 'expected a place that is in this schema' };
    }
    const fault = unknownPlace(value, root, at);
    if (fault !== null) return fault;
  }
  return null;
}

/** The name behind the signs of a URL; as it is where they are wrong. */
function written(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isThere(root: JsonValue, pointer: string): boolean {
  let at: JsonValue | undefined = root;
  for (const part of pointer.slice(2).split('/')) {
    const name = written(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if ((!isObject(at) && !Array.isArray(at)) || !Object.hasOwn(at, name)) return false;
    at = (at as Readonly<Record<string, JsonValue | undefined>>)[name];
  }
  return true;
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
