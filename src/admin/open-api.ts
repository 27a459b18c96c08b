import { z } from 'zod';
import { knownEntry } from '../kernel/known-entry.ts';
import { accessOf, type Operation } from './operation.ts';
import { rolesThatMay } from './roles.ts';

/** Prefix of every operation's path. */
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
        doc_url: { type: 'string', description: 'Link to the cause and the remedy.' },
      },
    },
  },
};

/** OpenAPI 3.1 of a table of operations: the schemas that check are those that describe. */
export function openApiOf(operations: readonly Operation[], version: string): Json {
  const paths: Record<string, Json> = {};
  const shared = new SharedSchemas();
  for (const operation of operations) {
    const path = `${adminPrefix}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described(operation, shared) };
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
      schemas: { Error: errorSchema, ...shared.all },
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

function described(operation: Operation, shared: SharedSchemas): Json {
  const { method, path, area, summary, query, body, reply } = operation;
  return {
    operationId: operationId(method, path),
    tags: [path.split(/[/.]/)[1]],
    summary,
    description: `For operators with the role ${rolesThatMay(area, accessOf(operation)).join(' or ')}.`,
    security: [{ adminKey: [] }, { session: [] }],
    parameters: [...pathParameters(path), ...queryParameters(query, shared)],
    ...(body === null ? {} : { requestBody: requestBody(body, shared) }),
    responses: {
      [reply.kind === 'json' ? reply.status : 200]: {
        description: 'OK',
        content:
          reply.kind === 'json'
            ? { 'application/json': { schema: shared.schemaOf(reply.schema) } }
            : { [reply.contentType.replace(/;.*/s, '')]: { schema: { type: 'string' } } },
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

function queryParameters(query: z.ZodType, shared: SharedSchemas): Json[] {
  const { properties = {}, required = [] } = shared.schemaOf(query) as {
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

function requestBody(body: z.ZodType | 'yaml', shared: SharedSchemas): Json {
  if (body === 'yaml') return { required: true, content: { 'application/yaml': { schema: { type: 'string' } } } };
  return {
    required: !body.safeParse(undefined).success,
    content: { 'application/json': { schema: shared.schemaOf(body) } },
  };
}

/** Schemas that lead back to themselves are in `components`, since a reference counts from the root of the document. */
class SharedSchemas {
  readonly all: Record<string, unknown> = {};
  readonly #names = new Map<string, string>();

  /** Schema of what people write, for replies too: they are given as their schema takes them. */
  schemaOf(schema: z.ZodType): Json {
    const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
    const { $schema: _dialect, $defs: defs = {}, ...rest } = withoutKinds(made) as { $schema: unknown; $defs?: Json };
    const names = new Map(Object.keys(defs).map((name) => [`#/$defs/${name}`, this.#nameOf(name, defs)]));
    for (const [name, def] of Object.entries(defs)) {
      this.all[knownEntry(names, `#/$defs/${name}`)] = withReferences(def, names);
    }
    return withReferences(rest, names) as Json;
  }

  #nameOf(name: string, defs: Json): string {
    const key = JSON.stringify([name, defs]);
    const known = this.#names.get(key) ?? `Shared${this.#names.size + 1}`;
    this.#names.set(key, known);
    return known;
  }
}

function withReferences(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const shared = name === '$ref' && typeof child === 'string' ? names.get(child) : undefined;
      return [name, shared === undefined ? withReferences(child, names) : `#/components/schemas/${shared}`];
    }),
  );
}

/** `kind` is a word of our own for the reference of the configuration. OpenAPI's for a secret is `password`. */
function withoutKinds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKinds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => {
      if (name !== 'kind' || typeof child !== 'string') return [[name, withoutKinds(child)]];
      return child === 'secret' ? [['format', 'password']] : [];
    }),
  );
}
