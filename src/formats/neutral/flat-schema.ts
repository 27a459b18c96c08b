import { type JsonObject, listIn, objectsIn } from '../../kernel/json.ts';

const compositions = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * An object's schema without compositions at its top level: all properties of the variants may come, and the description has
 * the rest. Null: there are none.
 */
export function flatSchema(schema: JsonObject): JsonObject | null {
  const found = compositions.filter((word) => schema[word] !== undefined);
  if (found.length === 0) return null;
  const variants = found.flatMap((word) => objectsIn(schema[word]));
  const properties: JsonObject = Object.assign({}, ...variants.map((one) => one.properties), schema.properties);
  const required = [schema, ...objectsIn(schema.allOf)].flatMap((one) => listIn(one.required));
  const rest = Object.fromEntries(found.map((word) => [word, schema[word]]));
  const before = typeof schema.description === 'string' ? `${schema.description} ` : '';
  const others = Object.entries(schema).filter(([name]) => !found.some((word) => word === name));
  return {
    ...Object.fromEntries(others),
    type: 'object',
    properties,
    ...(required.length > 0 && { required: [...new Set(required)] }),
    description: `${before}(${JSON.stringify(rest)})`,
  };
}
