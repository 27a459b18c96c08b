import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** Google's `Schema` (OpenAPI 3.0: types in capitals, `nullable`, lengths as strings) as JSON Schema. */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const kept: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === 'nullable' || key === 'example') continue;
    if (key === 'type' && typeof value === 'string') kept.push(['type', typeOf(value, schema.nullable)]);
    else if (key === 'properties' && isObject(value)) kept.push([key, namedSchemas(value)]);
    else if (key === 'items' && isObject(value)) kept.push([key, jsonSchemaOf(value)]);
    else if (key === 'anyOf' && Array.isArray(value)) {
      kept.push([key, value.map((one) => (isObject(one) ? jsonSchemaOf(one) : one))]);
    } else if (lengths.has(key) && typeof value === 'string' && /^\d{1,15}$/.test(value))
      kept.push([key, Number(value)]);
    else if (!(key === 'format' && value === 'enum')) kept.push([key, value]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(kept);
}

/** int64 travels as a string in Google's JSON. */
const lengths: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

function typeOf(type: string, nullable: JsonValue | undefined): JsonValue {
  const name = type.toLowerCase();
  return nullable === true && name !== 'null' ? [name, 'null'] : name;
}

function namedSchemas(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, isObject(one) ? jsonSchemaOf(one) : one]),
  );
}
