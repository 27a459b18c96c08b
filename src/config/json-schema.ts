import { z } from 'zod';
import { configSchema } from './schema.ts';

export interface JsonSchema {
  type?: string;
  description?: string;
  default?: unknown;
  /** Our keyword for the meaning of a text (duration, size, …), for the reference. */
  kind?: string;
  /** Our keyword for what `marked-members` reads, where no `kind` says so. */
  mark?: 'address' | 'secret' | 'headers' | 'body';
  /** A URL in which a user name and a password may be. */
  has_user?: boolean;
  /** A URL whose path is a secret. */
  secret_path?: boolean;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  $defs?: Record<string, JsonSchema>;
  [key: string]: unknown;
}

/** The schema of what people write (not of the checked result), as zod gives it. */
export function inputSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema;
}

/** JSON Schema (draft 2020-12) of culvert.yaml for editors. */
export function configJsonSchema(): JsonSchema {
  const { $schema, ...schema } = forEditors(inputSchema());
  return { $schema, title: 'culvert.yaml', description: 'Configuration of Culvert, an inference gateway.', ...schema };
}

const reference: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/** Wherever a plain value is allowed, a reference such as `${PORT}` is allowed too. */
function forEditors(schema: JsonSchema): JsonSchema {
  const { kind: _kind, mark: _mark, has_user: _hasUser, secret_path: _secretPath, ...rest } = schema;
  const result: JsonSchema = { ...rest };
  if (schema.properties !== undefined) {
    const members = Object.entries(schema.properties);
    result.properties = Object.fromEntries(members.map(([name, member]) => [name, forEditors(member)]));
  }
  if (typeof schema.additionalProperties === 'object')
    result.additionalProperties = forEditors(schema.additionalProperties);
  if (schema.items !== undefined) result.items = forEditors(schema.items);
  if (schema.propertyNames !== undefined) {
    const { kind: _nameKind, ...names } = schema.propertyNames;
    result.propertyNames = names;
  }
  if (schema.anyOf !== undefined) result.anyOf = schema.anyOf.map(forEditors);
  if (!isNarrowScalar(schema)) return result;
  const { description, default: defaultValue, ...narrow } = result;
  return {
    ...(description === undefined ? {} : { description }),
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
    anyOf: [narrow, reference],
  };
}

/** A scalar that would refuse the text of a reference. */
function isNarrowScalar(schema: JsonSchema): boolean {
  if (schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean') return true;
  return schema.type === 'string' && (schema.pattern ?? schema.enum ?? schema.const ?? schema.maxLength) !== undefined;
}
