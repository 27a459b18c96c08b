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
  return faultsIn(schema, []).next().value ?? null;
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
