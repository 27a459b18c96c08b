import { readFileSync } from 'node:fs';
import { specValidator } from './validate.ts';

interface OperationSpec {
  parameters?: readonly { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { $ref: string } }> };
}

interface Spec {
  paths: Record<string, Record<string, OperationSpec>>;
  components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
}

const spec = JSON.parse(readFileSync(new URL('./qdrant-openapi.json', import.meta.url), 'utf8')) as Spec;

/**
 * Faults of a request by Qdrant's own description, one line each: an unknown path, method or query parameter, a body
 * that does not fit, or a member that Qdrant would ignore silently.
 */
export function qdrantRequestFaults(method: string, url: string, body: string): string[] {
  const [path = '', search = ''] = url.split('?');
  const found = Object.entries(spec.paths).find(
    ([template, operations]) => matches(template, path) && method.toLowerCase() in operations,
  );
  const operation = found?.[1][method.toLowerCase()];
  if (operation === undefined) return [`there is no ${method} ${path}`];
  const known = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
  const faults = [...new URLSearchParams(search).keys()]
    .filter((name) => !known.includes(name))
    .map((name) => `unknown query parameter ${name}`);
  const schema = operation.requestBody?.content['application/json']?.schema.$ref.split('/').at(-1);
  if (schema === undefined) return body === '' ? faults : [...faults, 'a body where none is taken'];
  return [...faults, ...bodyFaults(schema, body)];
}

function bodyFaults(schema: string, body: string): string[] {
  const value: unknown = JSON.parse(body);
  const { properties } = spec.components.schemas[schema] ?? {};
  const strays =
    properties === undefined ? [] : Object.keys(value as object).filter((key) => !Object.hasOwn(properties, key));
  return [...strays.map((key) => `unknown member ${key}`), ...specValidator('qdrant', schema)(value)];
}

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')];
  return wanted.length === given.length && wanted.every((part, at) => part.startsWith('{') || part === given[at]);
}
