import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createTransport, type TransportOptions } from '../src/upstream/transport/send.ts';
import type { TransportError } from '../src/upstream/transport/transport-error.ts';
import type {
  Transport,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamRequest,
} from '../src/upstream/transport/upstream-call.ts';

/** For tests: an upstream that does to each raw socket what the test says. Closed with the test. */
export async function listen(t: TestContext, onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return originOf(server);
}

export async function originOf(server: Server): Promise<string> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Calls back once per whole request that comes on the socket: a head, and as many bytes as it says. */
export function onRequest(socket: Socket, answer: (head: string, body: string) => void): void {
  let seen = '';
  socket.on('data', (chunk) => {
    seen += chunk.toString('latin1');
    for (;;) {
      const headEnd = seen.indexOf('\r\n\r\n') + 4;
      if (headEnd < 4) return;
      const bodyBytes = Number(/content-length: (\d+)/i.exec(seen.slice(0, headEnd))?.[1] ?? 0);
      if (seen.length < headEnd + bodyBytes) return;
      const [head, body] = [seen.slice(0, headEnd), seen.slice(headEnd, headEnd + bodyBytes)];
      seen = seen.slice(headEnd + bodyBytes);
      answer(head, body);
    }
  });
}

/** An upstream that answers every request with `answer` (latin1) and keeps the requests, in order. */
export async function listenAndKeep(
  t: TestContext,
  answer: string,
): Promise<{ origin: string; heads: string[]; bodies: string[] }> {
  const heads: string[] = [];
  const bodies: string[] = [];
  const origin = await listen(t, (socket) =>
    onRequest(socket, (head, body) => {
      heads.push(head);
      bodies.push(body);
      socket.write(answer, 'latin1');
    }),
  );
  return { origin, heads, bodies };
}

/** Its connections do not rest, so that a test knows which one is taken. */
export function testTransport(t: TestContext, options: TransportOptions = {}): ReturnType<typeof createTransport> {
  const transport = createTransport({ restMs: 0, ...options });
  t.after(() => transport.destroy());
  return transport;
}

/** Calls of an observer, for tests. */
export interface Told {
  call: UpstreamCall;
  status: number;
  headers: UpstreamHeaders | null;
  /** How often an observer was shown a head: never more than once. */
  heads: number;
  body: Buffer[];
  bodyBytes: number;
  /** 'ended', or what failed. */
  end: Promise<'ended' | TransportError>;
  /** First data. */
  began: Promise<void>;
  ends: number;
}

export function send(transport: Transport, origin: string, request: Partial<UpstreamRequest> = {}): Told {
  const end = Promise.withResolvers<'ended' | TransportError>();
  const began = Promise.withResolvers<void>();
  const told: Omit<Told, 'call'> = {
    status: 0,
    headers: null,
    heads: 0,
    body: [],
    bodyBytes: 0,
    end: end.promise,
    began: began.promise,
    ends: 0,
  };
  const call = transport.send(
    {
      origin,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: ['content-type', 'application/json'],
      body: '{"model":"m"}',
      connectTimeoutMs: 3_000,
      headersTimeoutMs: 30_000,
      bodyTimeoutMs: 30_000,
      ...request,
    },
    {
      headers(status, headers) {
        told.heads += 1;
        told.status = status;
        told.headers = headers;
      },
      data(chunk) {
        told.body.push(chunk);
        told.bodyBytes += chunk.length;
        began.resolve();
      },
      ended() {
        told.ends += 1;
        // Undici takes a turn until a connection can be used again.
        setImmediate(() => setImmediate(() => end.resolve('ended')));
      },
      failed(error) {
        told.ends += 1;
        end.resolve(error);
      },
    },
  );
  return Object.assign(told, { call });
}

export function textOf(told: Told): string {
  return Buffer.concat(told.body).toString();
}
