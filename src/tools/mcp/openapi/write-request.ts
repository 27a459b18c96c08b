import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { bodyArgument, type Operation, type Parameter } from './operations.ts';

/** A request for an operation, below the base URL of its API. */
export interface WrittenRequest {
  /** Path and query. */
  path: string;
  /** Flat list of names and values. */
  headers: string[];
  body: string | null;
}

/** Arguments that an operation cannot be asked with. The message names the argument. */
export class BadArguments extends Error {}

/** Writes the arguments of a call where the operation has its parameters (OpenAPI 3.1, "Style Values"). Throws `BadArguments`. */
export function writeRequest({ path, parameters, body, tool }: Operation, args: JsonObject): WrittenRequest {
  const known = new Set([...parameters.map(({ name }) => name), ...(body === null ? [] : [bodyArgument])]);
  const unknown = Object.keys(args).find((name) => !known.has(name));
  if (unknown !== undefined) throw new BadArguments(`'${unknown}' is not an argument of ${tool.name}`);
  const query: string[] = [];
  const headers: string[] = [];
  let filled = path;
  for (const parameter of parameters) {
    const { name, required } = parameter;
    const value = args[name];
    if (value === undefined || value === null) {
      if (required) throw new BadArguments(`'${name}' is missing`);
      continue;
    }
    if (parameter.in === 'query') query.push(...queryParts(parameter, value));
    else if (parameter.in === 'header') headers.push(name.toLowerCase(), headerValue(name, value));
    else filled = filled.replaceAll(`{${name}}`, pathPart(name, value));
  }
  if (/\{[^/}]*\}/.test(filled)) throw new BadArguments('the path has a parameter that the document does not list');
  const written = body === null ? undefined : args[bodyArgument];
  if (body?.required === true && written === undefined) throw new BadArguments(`'${bodyArgument}' is missing`);
  if (body !== null && written !== undefined) headers.push('content-type', body.contentType);
  return {
    path: query.length === 0 ? filled : `${filled}?${query.join('&')}`,
    headers,
    body: body === null || written === undefined ? null : bodyText(body.type, written),
  };
}

/** Steps up or to the same place would leave the path of the operation. */
function pathPart(name: string, value: unknown): string {
  const text = Array.isArray(value) ? value.map(plain).join(',') : plain(value);
  if (text === '' || text === '.' || text === '..') throw new BadArguments(`'${name}' cannot be part of a path`);
  return encodeURIComponent(text);
}

function queryParts({ name, style, explode }: Parameter, value: unknown): string[] {
  const pair = (key: string, one: unknown) => `${encodeURIComponent(key)}=${encodeURIComponent(plain(one))}`;
  if (Array.isArray(value)) {
    if (explode) return value.map((one) => pair(name, one));
    const separator = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',';
    return [pair(name, value.map(plain).join(separator))];
  }
  if (!isObject(value)) return [pair(name, value)];
  const entries = Object.entries(value);
  if (style === 'deepObject') return entries.map(([key, one]) => pair(`${name}[${key}]`, one));
  return explode ? entries.map(([key, one]) => pair(key, one)) : [pair(name, entries.flat().map(plain).join(','))];
}

function headerValue(name: string, value: unknown): string {
  const text = Array.isArray(value) ? value.map(plain).join(',') : plain(value);
  if (!/^[\x20-\x7e]{0,4096}$/.test(text)) throw new BadArguments(`'${name}' has characters that no header can hold`);
  return text;
}

function bodyText(type: 'json' | 'form' | 'text', value: unknown): string {
  if (type === 'json') return JSON.stringify(value);
  if (type === 'text') return plain(value);
  if (!isObject(value)) throw new BadArguments(`'${bodyArgument}' is not an object`);
  const fields = new URLSearchParams();
  for (const [name, one] of Object.entries(value)) {
    for (const each of Array.isArray(one) ? one : [one]) fields.append(name, plain(each));
  }
  return fields.toString();
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
