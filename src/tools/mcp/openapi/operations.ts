import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { resolved } from './document.ts';

/** A parameter of an operation outside of its body. */
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  /** Lists and objects as repeated parameters; else as one, with commas. */
  explode: boolean;
  style: string;
}

/** One operation of an API, as a tool. */
export interface Operation {
  tool: Tool;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Template such as `/pets/{id}`. */
  path: string;
  parameters: readonly Parameter[];
  /** Null: it takes none. */
  body: { type: 'json' | 'form' | 'text'; contentType: string; required: boolean } | null;
}

/** Argument of a tool that is the body of its request. */
export const bodyArgument = 'body';

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const operationsMax = 1_000;
const nameCharsMax = 64;
const descriptionCharsMax = 1_024;
/** Headers that belong to the connection or to the operator. */
const foreignHeaders =
  /^(accept|content-type|content-length|authorization|cookie|host|connection|transfer-encoding|te|upgrade|expect|proxy-.*)$/i;

/**
 * The operations of a document as tools. Those whose body is neither JSON, a form nor a text are left out, and so are those
 * with parameters in cookies that they need.
 */
export function operationsOf(document: JsonObject): Operation[] {
  const operations: Operation[] = [];
  const taken = new Set<string>();
  for (const [path, written] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    const item = resolved(document, written);
    if (item === null || !path.startsWith('/')) continue;
    for (const method of methods) {
      const operation = resolved(document, item[method]);
      if (operation === null || operations.length >= operationsMax) continue;
      const made = operationOf(document, { path, method, item, operation, taken });
      if (made !== null) operations.push(made);
    }
  }
  return operations;
}

interface Place {
  path: string;
  method: (typeof methods)[number];
  item: JsonObject;
  operation: JsonObject;
  taken: Set<string>;
}

function operationOf(document: JsonObject, { path, method, item, operation, taken }: Place): Operation | null {
  const inline = inliner(document);
  const properties: JsonObject = {};
  const required: string[] = [];
  const parameters: Parameter[] = [];
  for (const written of parametersIn(document, item, operation)) {
    const parameter = parameterOf(written);
    if (parameter === 'needed') return null;
    // The body has the name.
    if (parameter === null || parameter.name === bodyArgument) continue;
    parameters.push(parameter);
    properties[parameter.name] = { ...inline(schemaOf(document, written)), ...described(written) };
    if (parameter.required) required.push(parameter.name);
  }
  const body = bodyOf(document, operation);
  if (body === 'unknown') return null;
  if (body !== null) {
    properties[bodyArgument] = { ...inline(body.schema), ...described(body.written) };
    if (body.required) required.push(bodyArgument);
  }
  const { summary, description, deprecated, operationId } = operation;
  const texts = [summary, description].filter((one) => typeof one === 'string' && one !== '');
  const fullText = [...texts, ...(deprecated === true ? ['Deprecated.'] : [])]
    .join('\n\n')
    .slice(0, descriptionCharsMax);
  const name = nameFor(typeof operationId === 'string' ? operationId : `${method}_${path}`, taken);
  return {
    tool: {
      name,
      ...(typeof summary === 'string' && { title: summary.slice(0, 200) }),
      description: fullText === '' ? `${method.toUpperCase()} ${path}` : fullText,
      inputSchema: { type: 'object', properties: properties as Record<string, object>, required },
      annotations: {
        readOnlyHint: method === 'get',
        destructiveHint: method === 'delete',
        idempotentHint: method !== 'post' && method !== 'patch',
      },
    },
    method: method.toUpperCase() as Operation['method'],
    path,
    parameters,
    body,
  };
}

/** Parameters of the operation take precedence over those of its path. */
function parametersIn(document: JsonObject, item: JsonObject, operation: JsonObject): JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const written of [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []))) {
    const parameter = resolved(document, written);
    if (parameter !== null) byPlace.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...byPlace.values()];
}

/** `needed`: the operation cannot be asked without one that a tool cannot give. Null: it is left out. */
function parameterOf({ name, in: place, required, style, explode }: JsonObject): Parameter | 'needed' | null {
  if (typeof name !== 'string' || name === '') return null;
  const usual = place === 'query' || place === 'cookie' ? 'form' : 'simple';
  const form = typeof style === 'string' ? style : usual;
  const common = { name, required: place === 'path' || required === true, style: form };
  const isExploded = typeof explode === 'boolean' ? explode : form === 'form' || form === 'deepObject';
  if (place === 'path' || place === 'query') return { ...common, in: place, explode: isExploded };
  if (place === 'header') return foreignHeaders.test(name) ? null : { ...common, in: place, explode: false };
  return required === true ? 'needed' : null;
}

/** A parameter has its schema, or one in its content. */
function schemaOf(document: JsonObject, { schema, content }: JsonObject): unknown {
  if (schema !== undefined || !isObject(content)) return schema;
  return resolved(document, Object.values(content)[0])?.schema;
}

function described({ description }: JsonObject): JsonObject {
  return typeof description === 'string' ? { description: description.slice(0, descriptionCharsMax) } : {};
}

const bodyTypes: readonly (readonly [form: RegExp, type: 'json' | 'form' | 'text'])[] = [
  [/^application\/([\w.-]+\+)?json\b/i, 'json'],
  [/^application\/x-www-form-urlencoded\b/i, 'form'],
  [/^text\//i, 'text'],
  [/^\*\/\*$/, 'json'],
];

function bodyOf(document: JsonObject, operation: JsonObject) {
  const written = resolved(document, operation.requestBody);
  if (written === null || !isObject(written.content)) return null;
  for (const [form, type] of bodyTypes) {
    const contentType = Object.keys(written.content).find((one) => form.test(one));
    if (contentType === undefined) continue;
    const { schema } = resolved(document, written.content[contentType]) ?? {};
    const sent = contentType === '*/*' ? 'application/json' : contentType;
    return { type, contentType: sent, required: written.required === true, schema, written };
  }
  return written.required === true ? 'unknown' : null;
}

/** A name that models may call, which no other operation has. */
function nameFor(text: string, taken: Set<string>): string {
  const plain = text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|_+$/g, '') || 'operation';
  for (let at = 1; ; at++) {
    const suffix = at === 1 ? '' : `_${at}`;
    // Between the name of a server and that of a tool are two of them.
    const name = plain.replaceAll('__', '_').slice(0, nameCharsMax - suffix.length) + suffix;
    if (taken.has(name)) continue;
    taken.add(name);
    return name;
  }
}

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
function inliner(document: JsonObject): (schema: unknown) => JsonObject {
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
