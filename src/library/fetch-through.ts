import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connectionPair } from '../kernel/web/connection-pair.ts';
import { request as startRequest } from '../kernel/web/node-http.ts';
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
