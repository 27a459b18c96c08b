import { z } from 'zod';
import { accessOf, type Operation } from './operation.ts';
import { rolesThatMay } from './roles.ts';

/** Below which every operation stands. */
const adminPrefix = '/admin/v1';

type Json = Record<string, unknown>;

const errorSchema: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'code', 'param'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        code: { type: 'integer', description: 'The HTTP status.' },
        param: { type: ['string', 'null'], description: 'The field that it is about.' },
        request_id: { type: 'string' },
        doc_url: { type: 'string', description: 'Where its cause and its remedy are explained.' },
      },
    },
  },
};

/** OpenAPI 3.1 of a table of operations: the schemas that check are those that describe. */
export function openApiOf(operations: readonly Operation[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = `${adminPrefix}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Culvert',
      version,
      description: 'An inference gateway. /admin/v1 takes the key of an operator, such as the admin key.',
    },
    paths,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        adminKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'The admin key, `sk-cv-admin-…` or admin.key, or an operator’s, `sk-cv-op-…`.',
        },
      },
    },
  };
}

function described(operation: Operation): Json {
  const { method, path, area, summary, query, body, reply } = operation;
  return {
    operationId: operationId(method, path),
    tags: [path.split(/[/.]/)[1]],
    summary,
    description: `For operators of the role ${rolesThatMay(area, accessOf(operation)).join(', ')}.`,
    security: [{ adminKey: [] }, { session: [] }],
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body === null ? {} : { requestBody: requestBody(body) }),
    responses: {
      [reply.kind === 'json' ? reply.status : 200]: {
        description: 'OK',
        content:
          reply.kind === 'json'
            ? { 'application/json': { schema: schemaOf(reply.schema) } }
            : { [reply.contentType.split(';')[0]!]: { schema: { type: 'string' } } },
      },
      default: {
        description: 'Refused',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function operationId(method: string, path: string): string {
  const words = path.split(/[/.]/).filter((part) => part !== '');
  const named = words.map((word) => {
    const plain = word.startsWith('{') ? `by-${word.slice(1, -1)}` : word;
    return plain.replace(/(^|-)([a-z])/g, (_whole, _dash, letter: string) => letter.toUpperCase());
  });
  return `${method.toLowerCase()}${named.join('')}`;
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: z.ZodType): Json[] {
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function requestBody(body: z.ZodType | 'yaml'): Json {
  if (body === 'yaml') return { required: true, content: { 'application/yaml': { schema: { type: 'string' } } } };
  return { required: !body.safeParse(undefined).success, content: { 'application/json': { schema: schemaOf(body) } } };
}

/** What people write, for replies too: they are given as their schema takes them. */
function schemaOf(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  return withoutKinds(rest) as Json;
}

/** `kind` is a word of our own for the reference of the configuration. */
function withoutKinds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKinds);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, child]) => name !== 'kind' || typeof child !== 'string');
  return Object.fromEntries(entries.map(([name, child]) => [name, withoutKinds(child)]));
}
