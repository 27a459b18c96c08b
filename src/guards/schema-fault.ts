import { isObject, type JsonValue } from '../kernel/json.ts';

const types = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);
/** Members whose objects have schemas by names that the author chose. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Members that hold values, not schemas. */
const values = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired']);
const bytesMax = 65_536;

/** The first thing in a JSON schema that nothing could meet or read, with its place; null: there is none. */
export function schemaFault(schema: JsonValue): { path: (string | number)[]; message: string } | null {
  if (JSON.stringify(schema).length > bytesMax) return { path: [], message: `expected at most ${bytesMax} bytes` };
  return faultIn(schema, []);
}

function faultIn(schema: JsonValue | undefined, path: (string | number)[]): ReturnType<typeof schemaFault> {
  if (Array.isArray(schema)) return first(schema.map((one, at) => () => faultIn(one, [...path, at])));
  if (!isObject(schema)) return null;
  return first(
    Object.entries(schema).map(
      ([name, value]) =>
        () =>
          memberFault(name, value, [...path, name]),
    ),
  );
}

function memberFault(name: string, value: JsonValue | undefined, path: (string | number)[]) {
  if (values.has(name)) return null;
  if (name === 'type') {
    const odd = [value].flat().find((type) => typeof type !== 'string' || !types.has(type));
    return odd === undefined ? null : { path, message: `expected ${[...types].join(', ')}` };
  }
  if (name === '$ref' && (typeof value !== 'string' || !value.startsWith('#'))) {
    return { path, message: 'expected a place in this schema, such as #/$defs/name' };
  }
  if (name === 'pattern') return patternFault(value, path);
  if (!named.has(name) || !isObject(value)) return faultIn(value, path);
  return first(
    Object.entries(value).map(([key, one]) => () => {
      const odd = name === 'patternProperties' ? patternFault(key, [...path, key]) : null;
      return odd ?? faultIn(one, [...path, key]);
    }),
  );
}

function patternFault(value: JsonValue | undefined, path: (string | number)[]) {
  try {
    if (typeof value === 'string') new RegExp(value, 'u');
    return typeof value === 'string' ? null : { path, message: 'expected a regular expression' };
  } catch {
    return { path, message: 'expected a regular expression of JavaScript with the flag u' };
  }
}

function first<T>(looks: readonly (() => T | null)[]): T | null {
  for (const look of looks) {
    const found = look();
    if (found !== null) return found;
  }
  return null;
}
