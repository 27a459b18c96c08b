import type { Document, Schema } from './open-api.ts';

export interface FieldRow {
  /** `data[].name`. */
  path: string;
  type: string;
  required: boolean;
  description: string;
}

/** Deeper and longer ones would not be read; a schema may lead back to itself. */
const depthMax = 5;
const rowsMax = 200;

/** Members of a schema, a row each, those of inner objects after the object. */
export function fieldsOf(document: Document, schema: Schema): FieldRow[] {
  const rows: FieldRow[] = [];
  const add = (from: Schema, at: string, depth: number) => {
    const inner = resolved(document, from);
    if (depth > depthMax || rows.length >= rowsMax) return;
    for (const choice of [...(inner.anyOf ?? []), ...(inner.oneOf ?? []), ...(inner.allOf ?? [])]) {
      add(choice, at, depth + 1);
    }
    if (inner.items !== undefined) add(inner.items, `${at}[]`, depth + 1);
    if (typeof inner.additionalProperties === 'object') add(inner.additionalProperties, `${at}.*`, depth + 1);
    for (const [name, property] of Object.entries(inner.properties ?? {})) {
      const path = at === '' ? name : `${at}.${name}`;
      const propertySchema = resolved(document, property);
      if (rows.length >= rowsMax) return;
      // Choices may share a field.
      if (rows.some((row) => row.path === path)) continue;
      rows.push({
        path,
        type: typeOf(document, propertySchema),
        required: inner.required?.includes(name) === true,
        description: [
          propertySchema.description,
          propertySchema.default === undefined ? '' : `Default: ${JSON.stringify(propertySchema.default)}.`,
        ]
          .filter(Boolean)
          .join(' '),
      });
      add(propertySchema, path, depth + 1);
    }
  };
  add(schema, '', 0);
  return rows;
}

/** `string | null`, `array of integer`, `"a" | "b"`. */
export function typeOf(document: Document, schema: Schema, depth = 0): string {
  const { type, format, items, anyOf, oneOf, const: only, enum: values } = resolved(document, schema);
  if (depth > depthMax) return 'any';
  if (only !== undefined) return JSON.stringify(only);
  if (format === 'binary') return 'file';
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) {
    return [...new Set(choices.map((choice) => typeOf(document, choice, depth + 1)))].join(' | ');
  }
  if (type === 'array' && items !== undefined) return `array of ${typeOf(document, items, depth + 1)}`;
  return typeof type === 'string' ? type : (type?.join(' | ') ?? 'any');
}

/** The fields that must be there, with a value of their type each. */
export function exampleOf(document: Document, schema: Schema, depth = 0): unknown {
  const { type, properties = {}, required = [], anyOf, oneOf, ...rest } = resolved(document, schema);
  if (rest.default !== undefined) return rest.default;
  if (rest.const !== undefined) return rest.const;
  if (rest.enum !== undefined) return rest.enum[0];
  const choice = anyOf?.[0] ?? oneOf?.[0];
  if (choice !== undefined && depth < depthMax) return exampleOf(document, choice, depth + 1);
  const kind = typeof type === 'string' ? type : type?.[0];
  if (kind === 'string') return '';
  if (kind === 'integer' || kind === 'number') return 0;
  if (kind === 'boolean') return false;
  if (kind === 'array') return [];
  if (kind !== 'object' || depth >= depthMax) return kind === 'object' ? {} : null;
  const named = required.filter((name) => properties[name] !== undefined);
  return Object.fromEntries(named.map((name) => [name, exampleOf(document, properties[name]!, depth + 1)]));
}

function resolved(document: Document, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.replace('#/components/schemas/', '');
  return document.components?.schemas?.[name] ?? {};
}
