import type { ClientRequest, IncomingMessage } from 'node:http';
import { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { request as startRequest } from '../kernel/node-http.ts';
import type { OpenedGateway } from './opened-gateway.ts';

export interface FetchParts {
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
export async function fetchThrough(gateway: OpenedGateway, { request, path, address }: FetchParts): Promise<Response> {
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
      const [client, server] = pair();
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

/** Two ends of a connection without a socket. Either end's death is the other's. */
function pair(): [Duplex, Duplex] {
  const client = new End();
  const server = new End();
  client.other = server;
  server.other = client;
  return [client, server];
}

class End extends Duplex {
  other: End | null = null;
  #taken: (() => void) | null = null;

  override _read(): void {
    const taken = this.#taken;
    this.#taken = null;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#pass(chunk, done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#pass(null, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    this.other = null;
    // In a later turn, as a network would: what was written before is read first.
    if (other !== null && !other.destroyed) setImmediate(() => other.destroy());
    done(error);
  }

  #pass(chunk: Buffer | null, done: (error?: Error) => void): void {
    const { other } = this;
    if (other === null || other.destroyed)
      return done(chunk === null ? undefined : new Error('the connection is closed'));
    if (other.push(chunk) || chunk === null) done();
    else other.#taken = done;
  }

  // Node's client asks these of every connection.
  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}
