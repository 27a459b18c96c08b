import { isObject, type JsonObject, type JsonValue, listIn, objectIn } from '../kernel/json.ts';

const depthMax = 12;

/**
 * The plainest value that a JSON Schema allows: required properties only, first of `enum`, `anyOf` and `oneOf`,
 * shortest arrays. `uri` means any address. Understands `$ref` within the schema, bounds and common formats; `pattern` is beyond it.
 */
export function exampleOf(schema: JsonObject, words: string, uri = 'https://example.com/'): JsonValue {
  return example(schema, { root: schema, words, uri, depth: 0 });
}

interface Place {
  root: JsonObject;
  words: string;
  uri: string;
  depth: number;
}

function example(given: JsonValue | undefined, place: Place): JsonValue {
  if (!isObject(given) || place.depth > depthMax) return null;
  const schema = typeof given.$ref === 'string' ? resolved(given.$ref, place.root) : given;
  const inside = { ...place, depth: place.depth + 1 };
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  for (const union of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(union) && union.length > 0) return example(union[0], inside);
  }
  if (Array.isArray(schema.allOf) && schema.allOf.length > 0) {
    const { allOf: parts, ...others } = schema;
    return allOf(typeOf(others) === 'object' ? [others, ...schema.allOf] : schema.allOf, inside);
  }
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, inside);
    case 'array':
      return Array.from({ length: Math.min(numberOr(schema.minItems, 0), 100) }, (_, at) =>
        example(Array.isArray(schema.prefixItems) ? (schema.prefixItems[at] ?? schema.items) : schema.items, inside),
      );
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return schema.format === 'uri' ? place.uri : stringOf(schema, place.words);
  }
}

function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (typeof type === 'string') return type;
  if (schema.properties !== undefined || schema.required !== undefined) return 'object';
  return schema.items === undefined ? 'string' : 'array';
}

function objectOf(schema: JsonObject, place: Place): JsonObject {
  const made: JsonObject = {};
  const properties = objectIn(schema.properties);
  for (const name of listIn(schema.required)) {
    if (typeof name === 'string') made[name] = example(properties[name] ?? {}, place);
  }
  return made;
}

function allOf(parts: readonly JsonValue[], place: Place): JsonValue {
  const values = parts.map((part) => example(part, place));
  return values.every(isObject) ? Object.assign({}, ...values) : (values[0] ?? null);
}

function numberOf(schema: JsonObject): number {
  const step = numberOr(schema.multipleOf, typeOf(schema) === 'integer' ? 1 : 0.5);
  const above = typeof schema.exclusiveMinimum === 'number' ? schema.exclusiveMinimum + step : Number.NEGATIVE_INFINITY;
  const below = typeof schema.exclusiveMaximum === 'number' ? schema.exclusiveMaximum - step : Number.POSITIVE_INFINITY;
  const min = Math.max(above, numberOr(schema.minimum, Number.NEGATIVE_INFINITY));
  const max = Math.min(below, numberOr(schema.maximum, Number.POSITIVE_INFINITY));
  if (min > 0 || max < 0) return min > 0 ? Math.ceil(min / step) * step : Math.floor(max / step) * step;
  return max >= step ? step : 0;
}

const examplesByFormat: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'PT1S',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

const lengthenedMax = 10_000;

function stringOf(schema: JsonObject, words: string): string {
  const formatted = typeof schema.format === 'string' ? examplesByFormat[schema.format] : undefined;
  if (formatted !== undefined) return formatted;
  const min = Math.min(numberOr(schema.minLength, 0), lengthenedMax);
  const long = words.length < min ? words.padEnd(min, '.') : words;
  return long.slice(0, numberOr(schema.maxLength, long.length));
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

/** `#/$defs/x` within the schema; an unknown reference allows anything. */
function resolved(reference: string, root: JsonObject): JsonObject {
  if (!reference.startsWith('#')) return {};
  let at: JsonValue | undefined = root;
  for (const part of reference.slice(1).split('/').filter(Boolean)) {
    at = isObject(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  return isObject(at) ? at : {};
}
