import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { connectionPair } from '../../kernel/web/connection-pair.ts';
import { request as startRequest } from '../../kernel/web/node-http.ts';

/** Serves HTTP/1.1 on a connection inside this process. */
type Connect = (connection: Duplex) => void;

const streamsMax = 100;
const idleMs = 75_000;

/** Serves HTTP/2 on a connection: each stream is a request of HTTP/1.1 in here. `remoteAddress`: the client's. */
export function serveHttp2(connection: Duplex, remoteAddress: string | undefined, connect: Connect): void {
  const server = createServer({ settings: { maxConcurrentStreams: streamsMax } });
  server.on('session', (session) => {
    session.setTimeout(idleMs, () => session.close());
    session.on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, head) => {
    passOn(stream, head, () => {
      const [client, served] = connectionPair();
      connect(Object.assign(served, { remoteAddress }));
      return client;
    });
  });
  server.emit('connection', connection);
}

/** Headers of one connection of HTTP/1.1, which HTTP/2 forbids, and of trailers, which nobody here reads. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function passOn(stream: ServerHttp2Stream, head: IncomingHttpHeaders, connected: () => Duplex): void {
  const breakOff = () => void stream.destroy(new Error('the answer broke off'));
  stream.on('error', () => undefined);
  const headers = plainHeaders(head);
  const authority = head[':authority'];
  if (authority !== undefined) headers.host = authority;
  const sent = startRequest({
    method: head[':method'] ?? 'GET',
    path: head[':path'] ?? '/',
    headers,
    // Node asks for a socket, and uses what every connection has.
    createConnection: () => connected() as never,
  });
  sent.on('error', breakOff);
  sent.on('response', (answer) => {
    if (stream.destroyed) return void answer.destroy();
    stream.respond({ ':status': answer.statusCode ?? 500, ...plainHeaders(answer.headers) });
    answer.on('error', breakOff);
    answer.pipe(stream);
  });
  stream.on('close', () => sent.destroy());
  stream.pipe(sent);
}

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const plain: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':') && !ofConnection.has(name)) plain[name] = value;
  }
  return plain;
}
