import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isObject, type JsonObject, listIn, objectIn } from '../../../kernel/json.ts';
import type { Transport, UpstreamHeaders } from '../../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import { McpFault, tookLongerThan } from '../mcp-fault.ts';
import type { CallBounds, McpResult, McpSession } from '../session.ts';
import { BadDocument, documentBytesMax, readDocument } from './document.ts';
import { bodyArgument, type Operation, operationsOf, type Parameter } from './operations.ts';

/** An HTTP API that an OpenAPI document describes. */
export interface HttpApi {
  /** URL or path of the document. */
  openapi: string;
  /** Address of the API; absent: what the document says. */
  baseUrl?: string | undefined;
  /** Sent with every request. */
  headers: Readonly<Record<string, string>>;
  /** Size of one answer, decompressed. */
  bytesMax: number;
}

const connectTimeoutMs = 5_000;
/** Shorter words of a header may be words of any text. */
const secretCharsMin = 8;
const nothing = { instructions: null, prompts: [], resources: [], templates: [] };

interface Api {
  digest: string;
  base: URL;
  operations: ReadonlyMap<string, Operation>;
}

/** One for all tenants: an API knows no sessions. */
export class OpenApiServer {
  readonly #api: HttpApi;
  readonly #transport: Transport;
  #known: Api | null = null;

  constructor(api: HttpApi, transport: Transport) {
    this.#api = api;
    this.#transport = transport;
  }

  /** Reads the document at first; later ones take over changes when they look at the lists. */
  async open(bounds: CallBounds): Promise<McpSession | McpFault> {
    const first = this.#known ?? (await this.#look(bounds));
    if (first instanceof McpFault) return first;
    const unsupported = async () => new McpFault('refused', 'has no prompts and no resources');
    return {
      listTools: async () => toolsOf(this.#known ?? first),
      callTool: (name, args, of) => this.#call(this.#known ?? first, name, args, of),
      lists: async (of) => {
        const api = await this.#look(of);
        return api instanceof McpFault ? api : { tools: toolsOf(api), ...nothing };
      },
      getPrompt: unsupported,
      readResource: unsupported,
      complete: async () => ({ completion: { values: [] } }),
      ping: async () => null,
      isOpen: () => true,
      close: async () => {},
    };
  }

  async #look(bounds: CallBounds): Promise<Api | McpFault> {
    try {
      const text = await this.#documentText(bounds);
      const digest = hash('sha256', text);
      if (this.#known?.digest === digest) return this.#known;
      const document = readDocument(text);
      const operations = operationsOf(document);
      if (operations.length === 0) throw new BadDocument('has no operation that can be a tool');
      const base = baseOf(this.#api, document);
      this.#known = { digest, base, operations: new Map(operations.map((one) => [one.tool.name, one])) };
      return this.#known;
    } catch (error) {
      return error instanceof BadDocument ? new McpFault('broken', error.message) : callFault(error, bounds);
    }
  }

  async #documentText(bounds: CallBounds): Promise<string> {
    const { openapi } = this.#api;
    if (!isUrl(openapi)) {
      const facts = await stat(openapi).catch(() => null);
      if (facts === null || !facts.isFile()) throw new BadDocument('has no document at the path that is configured');
      if (facts.size > documentBytesMax) throw new BadDocument('has a document of more than 4 MB');
      return readFile(openapi, 'utf8');
    }
    const { status, bytes } = await this.#send(new URL(openapi), 'GET', [], null, {
      ...bounds,
      bytesMax: documentBytesMax,
    });
    if (status !== 200) throw new BadDocument(`answered ${status} when it was asked for its document`);
    return bytes.toString('utf8');
  }

  async #call({ base, operations }: Api, name: string, args: JsonObject, bounds: CallBounds) {
    const operation = operations.get(name);
    if (operation === undefined) return new McpFault('refused', 'has no such operation any more');
    try {
      const { path, headers, body } = writeRequest(operation, args);
      const url = new URL(base.href.replace(/\/+$/, '') + path);
      const answer = await this.#send(url, operation.method, headers, body, {
        ...bounds,
        bytesMax: this.#api.bytesMax,
      });
      return withoutSecrets(resultOf(answer), this.#api.headers);
    } catch (error) {
      // A result would cost a unit, though nothing was asked of the API.
      if (error instanceof BadArguments) return new McpFault('refused', `The call was not sent: ${error.message}`);
      return callFault(error, bounds);
    }
  }

  /** Headers of the configuration, for the API alone: its document may be elsewhere. */
  #configuredHeaders(url: URL): string[] {
    const { baseUrl, headers } = this.#api;
    if (baseUrl !== undefined && new URL(baseUrl).origin !== url.origin) return [];
    return Object.entries(headers).flatMap(([name, value]) => [name.toLowerCase(), value]);
  }

  #send(
    url: URL,
    method: Operation['method'],
    headers: readonly string[],
    body: string | null,
    { timeoutMs, signal, bytesMax }: CallBounds & { bytesMax: number },
  ) {
    const deadlines = [
      AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs))),
      ...(signal === undefined ? [] : [signal]),
    ];
    const fixed = this.#configuredHeaders(url);
    const accept = ['accept', 'application/json, text/*;q=0.9, */*;q=0.5', 'user-agent', 'culvert'];
    const request = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: [...accept, ...headers, ...fixed],
      body,
    };
    return wholeAnswer(this.#transport, request, { connectTimeoutMs, bytesMax, deadline: AbortSignal.any(deadlines) });
  }
}

/**
 * Where an API is: as configured, else the first server of its document. A document that was fetched may not send the
 * headers of the configuration elsewhere than where it is itself.
 */
function baseOf({ openapi, baseUrl }: HttpApi, document: JsonObject): URL {
  if (baseUrl !== undefined) return new URL(baseUrl);
  const [first] = listIn(document.servers);
  const server = objectIn(first);
  const written = typeof server.url === 'string' ? withDefaults(server.url, server.variables) : '/';
  const from = isUrl(openapi) ? openapi : undefined;
  if (!URL.canParse(written, from)) throw new BadDocument('names no address of its API; set base_url');
  const base = new URL(written, from);
  if (!/^https?:$/.test(base.protocol)) throw new BadDocument('names an address that is not http; set base_url');
  if (from !== undefined && base.origin !== new URL(from).origin) {
    throw new BadDocument('names an API elsewhere than its document; set base_url to allow that');
  }
  base.search = '';
  base.hash = '';
  return base;
}

function withDefaults(url: string, variables: unknown): string {
  return url.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = isObject(variables) && Object.hasOwn(variables, name) ? variables[name] : null;
    return isObject(variable) && typeof variable.default === 'string' ? variable.default : whole;
  });
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

function toolsOf({ operations }: Api) {
  return [...operations.values()].map(({ tool }) => tool);
}

/** JSON and texts as a text, pictures and sound as such, and what failed as a result that says so. */
function resultOf({ status, headers, bytes }: { status: number; headers: UpstreamHeaders; bytes: Buffer }): McpResult {
  const type = (headers.get('content-type') ?? '').replace(/;.*/s, '').trim().toLowerCase();
  if (status >= 400) return textResult(`HTTP ${status}\n${bytes.toString('utf8')}`.trim(), 'error');
  if (status >= 300) return textResult(`HTTP ${status}: the API redirects, which Culvert does not follow.`, 'error');
  const media = /^(image|audio)\/[\w.+-]+$/.exec(type)?.[1] as 'image' | 'audio' | undefined;
  if (media !== undefined) return { content: [{ type: media, data: bytes.toString('base64'), mimeType: type }] };
  const text = bytes.toString('utf8');
  if (bytes.length > 0 && !Buffer.from(text, 'utf8').equals(bytes)) {
    return textResult(
      `The answer is ${bytes.length} bytes of ${type || 'an unknown type'}, which is not text.`,
      'error',
    );
  }
  return textResult(text === '' ? `HTTP ${status}` : text, 'ok');
}

/** An API may repeat what it was sent, and callers must not see the operator's credentials. */
function withoutSecrets(result: McpResult, headers: HttpApi['headers']): McpResult {
  const secrets = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const long = secrets.filter((secret) => secret.length >= secretCharsMin);
  const content = result.content.map((part) =>
    part.type === 'text'
      ? { ...part, text: long.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), part.text) }
      : part,
  );
  return { ...result, content };
}

function textResult(text: string, outcome: 'ok' | 'error'): McpResult {
  return { content: [{ type: 'text', text }], ...(outcome === 'error' && { isError: true }) };
}

function callFault(error: unknown, { timeoutMs, signal }: CallBounds): McpFault {
  if (signal?.aborted === true) return new McpFault('aborted', 'was cut off, because the caller left');
  if (!(error instanceof NoAnswer)) return new McpFault('broken', 'could not be asked');
  if (error.kind === 'timed-out') return tookLongerThan(timeoutMs);
  if (error.kind === 'too-large') return new McpFault('too-large', 'answered with more bytes than max_bytes');
  return new McpFault('unreachable', `cannot be reached: ${error.message}`);
}

/** Arguments that an operation cannot be asked with. The message names the argument. */
class BadArguments extends Error {}

/**
 * The request for an operation, below the base URL of its API: the arguments of a call where the operation has its
 * parameters (OpenAPI 3.1, "Style Values"). Throws `BadArguments`.
 */
function writeRequest({ path, parameters, body, tool }: Operation, args: JsonObject) {
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
    /** Flat list of names and values. */
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
