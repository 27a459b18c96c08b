import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { resolved } from './document.ts';

/** Schemas of one tool, all together. What is beyond may be anything: a model must not read books of schemas. */
const schemasMax = 400;
const depthMax = 12;

const single = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'] as const;
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const named = ['properties', 'patternProperties'] as const;
/** Members of OpenAPI alone, which say nothing of the form of a value. */
const leftOut: ReadonlySet<string> = new Set(['xml', 'externalDocs', 'discriminator', 'example', 'nullable', '$ref']);

/**
 * Replaces the references within a schema of an OpenAPI document by what they name, as models cannot follow them.
 * A schema within itself, and what is too deep or too much, becomes one that takes anything.
 */
export function inliner(document: JsonObject): (schema: unknown) => JsonObject {
  let left = schemasMax;

  function inlined(schema: unknown, within: readonly JsonObject[]): JsonObject {
    const found = resolved(document, schema);
    if (found === null || left <= 0 || within.length >= depthMax || within.includes(found)) return {};
    left -= 1;
    const inside = [...within, found];
    const written: JsonObject = {};
    for (const [name, value] of Object.entries(found)) {
      if (leftOut.has(name) || name.startsWith('x-')) continue;
      if (isOneOf(single, name)) written[name] = isObject(value) ? inlined(value, inside) : value;
      else if (isOneOf(lists, name) && Array.isArray(value)) written[name] = value.map((one) => inlined(one, inside));
      else if (isOneOf(named, name) && isObject(value)) {
        written[name] = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inlined(one, inside)]));
      } else written[name] = value;
    }
    // OpenAPI 3.0 says so what JSON Schema says by a second type.
    if (found.nullable === true && typeof written.type === 'string') written.type = [written.type, 'null'];
    // The server sets them.
    if (isObject(written.properties)) written.properties = withoutReadOnly(written);
    return written;
  }

  return (schema) => inlined(schema, []);
}

function withoutReadOnly(schema: JsonObject): JsonObject {
  const properties = Object.entries(schema.properties as JsonObject).filter(
    ([, one]) => !(isObject(one) && one.readOnly === true),
  );
  const names = new Set(properties.map(([name]) => name));
  if (Array.isArray(schema.required)) schema.required = schema.required.filter((name) => names.has(String(name)));
  return Object.fromEntries(properties);
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}
