import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withoutBase } from '../kernel/web/base-path.ts';
import { connectionPair } from '../kernel/web/connection-pair.ts';
import { request as startRequest } from '../kernel/web/node-http.ts';
import { GatewayError } from './gateway-error.ts';
import type { CulvertConfig, FastifyScope, FetchContext, Gateway, GatewayOptions } from './gateway-types.ts';
import type { OpenEmbedded, OpenedGateway } from './opened-gateway.ts';

const graceMsDefault = 10_000;

/** A gateway behind the handlers of frameworks, which opens with the first request. */
export class EmbeddedGateway implements Gateway {
  readonly next: Gateway['next'];
  readonly #options: GatewayOptions;
  readonly #open: OpenEmbedded;
  readonly #basePath: string;
  #opening: Promise<OpenedGateway> | null = null;
  /** Null until it has opened. */
  #opened: OpenedGateway | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: GatewayOptions, open: OpenEmbedded) {
    this.#options = options;
    this.#open = open;
    this.#basePath = (options.basePath ?? '').replace(/\/+$/, '');
    if (this.#basePath !== '' && !this.#basePath.startsWith('/'))
      throw new GatewayError([{ path: 'basePath', message: "begin it with a slash, as in '/ai'" }]);
    const answer = (request: Request) => this.fetch(request);
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
    this.next = Object.fromEntries(methods.map((method) => [method, answer])) as Gateway['next'];
  }

  async start(): Promise<void> {
    await this.#running();
  }

  readonly handler: Gateway['handler'] = (request, response, next) => {
    if (request.readableEnded && hasBody(request)) return failed(bodyUsed, response, next);
    strip(request, this.#basePath);
    if (this.#opened !== null && this.#closing === null) return this.#opened.handle(request, response);
    this.#running().then(
      (opened) => opened.handle(request, response),
      (error: unknown) => failed(error, response, next),
    );
  };

  readonly upgrade: Gateway['upgrade'] = (request, socket, head) => {
    strip(request, this.#basePath);
    this.#running().then(
      (opened) => {
        if (!opened.upgrade(request, socket, head)) socket.destroy();
      },
      () => socket.destroy(),
    );
  };

  readonly fetch: Gateway['fetch'] = async (input, init) => {
    const isUnchanged =
      input instanceof Request && !requestMembers.some((member) => init !== undefined && member in init);
    const request = isUnchanged ? input : new Request(input, { duplex: 'half', ...init } as RequestInit);
    const { address, incoming } = (isUnchanged ? (init ?? {}) : {}) as FetchContext;
    const opened = await this.#running();
    const path = withoutBase(pathOf(request.url), this.#basePath);
    return fetchThrough(opened, { request, path, address: address ?? incoming?.socket?.remoteAddress });
  };

  readonly fastify: Gateway['fastify'] = (instance) =>
    asFastifyPlugin(instance, (request, response) => {
      strip(request, instance.prefix.replace(/\/+$/, ''));
      this.handler(request, response);
    });

  async listen(at: { host?: string; port?: number } = {}): Promise<{ url: string }> {
    return { url: await (await this.#running()).listen(at).catch(rethrown) };
  }

  async reload(config?: CulvertConfig | string): Promise<void> {
    await (await this.#running()).reload(config).catch(rethrown);
  }

  close({ graceMs = graceMsDefault }: { graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const opened = await this.#opening?.catch(() => null);
    await opened?.close(graceMs);
  }

  #running(): Promise<OpenedGateway> {
    if (this.#closing !== null) return Promise.reject(new GatewayError([{ path: '', message: isClosed }]));
    this.#opening ??= this.#openOnce();
    return this.#opening;
  }

  async #openOnce(): Promise<OpenedGateway> {
    const { config, env = process.env, log = 'stdout' } = this.#options;
    try {
      this.#opened = await this.#open({ env, log, ...(config !== undefined && { config }) });
      return this.#opened;
    } catch (error) {
      this.#opening = null;
      return rethrown(error);
    }
  }
}

function strip(request: IncomingMessage, base: string): void {
  request.url = withoutBase(request.url ?? '/', base);
}

/** Rethrows an error: another bundle opens gateways, whose class is not the one that applications import. */
function rethrown(error: unknown): never {
  const problems = error instanceof Error && 'problems' in error ? error.problems : null;
  throw Array.isArray(problems) ? new GatewayError(problems) : error;
}

/** Members of a `RequestInit` that a `Request` has too: what Hono passes behind one has others. */
const requestMembers = ['method', 'headers', 'body', 'signal'];

const isClosed = 'this gateway is closed; make another one';

const bodyUsed = new Error(
  "The body of this request was read before the gateway saw it. Put the gateway's handler before parsers such as express.json().",
);

/** A request without a body has ended at once. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** To the framework's own errors, or a plain answer without what only the operator should read. */
function failed(error: unknown, response: ServerResponse, next: ((error?: unknown) => void) | undefined): void {
  if (next !== undefined) return next(error);
  if (response.headersSent) return void response.destroy();
  const status = error === bodyUsed ? 500 : 503;
  const message = error === bodyUsed ? bodyUsed.message : 'The gateway has not started. Its operator can see why.';
  const body = JSON.stringify({ error: { message, type: 'upstream_error', code: status, param: null } });
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' }).end(body);
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Hands all requests of a Fastify scope over, with their bodies unread and Fastify's own answer given up. */
async function asFastifyPlugin(
  instance: FastifyScope,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<void> {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  instance.route({
    method: methods,
    url: '/*',
    exposeHeadRoute: false,
    handler(request, reply) {
      reply.hijack();
      handle(request.raw, reply.raw);
    },
  });
}

interface FetchParts {
  request: Request;
  /** With its query. */
  path: string;
  /** The caller's address; undefined: unknown. */
  address: string | undefined;
}

/** Headers of one connection, which end with it. */
const ofConnection: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade']);
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Answers a `Request` over a connection inside this process, so that Node reads and writes HTTP as it does on a port. */
async function fetchThrough(gateway: OpenedGateway, { request, path, address }: FetchParts): Promise<Response> {
  const { signal } = request;
  signal.throwIfAborted();
  const sent = send(gateway, { request, path, address });
  const abort = () => sent.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  const answered = Promise.withResolvers<IncomingMessage>();
  sent.once('response', answered.resolve);
  sent.once('error', answered.reject);
  if (request.body === null) sent.end();
  else pipeline(Readable.fromWeb(request.body as never), sent).catch(answered.reject);
  const answer = await answered.promise;
  // What breaks off later is the body's error.
  sent.on('error', () => undefined);
  answer.once('close', () => signal.removeEventListener('abort', abort));
  return asResponse(answer, request.method);
}

function send(gateway: OpenedGateway, { request, path, address }: FetchParts): ClientRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) if (!ofConnection.has(name)) headers[name] = value;
  headers.host ??= new URL(request.url).host;
  return startRequest({
    method: request.method,
    path,
    headers,
    createConnection: () => {
      const [client, server] = connectionPair();
      gateway.connect(Object.assign(server, { remoteAddress: address }));
      return client as never;
    },
  });
}

function asResponse(answer: IncomingMessage, method: string): Response {
  const headers = new Headers();
  const { rawHeaders, statusCode = 500, statusMessage = '' } = answer;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!ofConnection.has(name.toLowerCase())) headers.append(name, rawHeaders[at + 1] ?? '');
  }
  const isEmpty = method === 'HEAD' || withoutBody.has(statusCode);
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status: statusCode, statusText: statusMessage, headers });
}
