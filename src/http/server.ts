import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Failure, invalid } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import { headerBytesMax, headersMax, headersTimeoutMs } from '../kernel/limits.ts';
import type { Elsewhere } from '../kernel/sharing/elsewhere.ts';
import { createServer } from '../kernel/web/node-http.ts';
import { createTrust } from './client-address.ts';
import { closeWatch } from './connections/close-watch.ts';
import { type ConnectionCaps, capConnections } from './connections/connection-caps.ts';
import { OpenDoor } from './connections/door.ts';
import { type DrainTimes, drain } from './connections/drain.ts';
import { http2Connection, type UnreadBytes } from './connections/http2-preface.ts';
import { responseOf } from './connections/pipelined.ts';
import { Reception, type ReceptionParts } from './receive-request.ts';
import { rawFailure, rawRefusal } from './refused-request.ts';
import { defaultDialect } from './route-table.ts';

export interface ServerParts extends ReceptionParts {
  /** Connections that other processes of this server have, by address; null: there are none. */
  elsewhere: Elsewhere | null;
  /** Called with the number of connections closed unread for want of descriptors, once a second at most. */
  onDropped(connections: number): void;
}

export type GatewayServer = ReturnType<typeof createGatewayServer>;

export function createGatewayServer(parts: ServerParts) {
  const { clock, snapshots } = parts;
  const reception = new Reception(parts);
  /** Connections with HTTP/2: their requests are of connections inside this process. */
  const http2 = new WeakSet<Socket>();
  const raw = createRawRefusals(parts);
  const server = createServer(serverOptions, reception.onRequest);
  server.maxHeadersCount = headersMax;
  server.on('checkContinue', reception.onRequest);
  server.on('checkExpectation', reception.onRequest);
  server.on('clientError', (error: UnreadBytes & NodeJS.ErrnoException, socket: Socket) => {
    // The parser of HTTP/1.1 still waits for the end of the preface's headers, and gives up after `headersTimeout`.
    if (http2.has(socket)) return;
    const connection = http2Connection(error, socket);
    if (connection === null) return raw.onClientError(error, socket);
    http2.add(socket);
    import('./connections/http2-plain.ts').then(
      ({ serveHttp2 }) => serveHttp2(connection, socket.remoteAddress, (one) => door.connect(one)),
      () => connection.destroy(),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    // An answer is on its way there: a second one would land inside it.
    if (responseOf(socket as Socket) !== null) return void socket.destroy();
    if (!reception.onUpgrade(request, socket, head)) raw.onUpgrade(request, socket);
  });
  server.on('connect', (_request, socket) => socket.destroy());

  let caps: ConnectionCaps | null = null;
  const door = new OpenDoor(server, reception);

  return {
    /** The way in for requests that no port of ours received. */
    door,
    /** Requests whose handlers run. */
    get running(): number {
      return reception.running;
    },
    /** Requests that wait for a turn, because the loop is busy, and how late it was when it was last looked at. */
    load: reception.overload,
    get draining(): boolean {
      return reception.state !== 'open';
    },
    /** `bound`: descriptor of a socket that has the port already. Without one, the port is opened. */
    async listen(host: string, port: number, bound: number | null = null): Promise<{ host: string; port: number }> {
      const listening = await listen(server, host, port, bound);
      caps = capConnections(server, {
        perAddress: () => snapshots.current.config.server.connections_per_address,
        elsewhere: parts.elsewhere,
        isTrusted: createTrust(() => snapshots.current.config.server.trusted_proxies),
        refuse: (socket, message) => raw.refuse({ kind: 'overloaded', message }, socket),
        isAlwaysServed: (method, path) => reception.isAlwaysServed(method, path),
        isFree: (socket) => responseOf(socket) === null && !reception.isUpgraded(socket) && !http2.has(socket),
        onTaken: () => reception.overload.tookConnection(),
        onDropped: parts.onDropped,
      });
      return listening;
    },
    /**
     * `draining` at once. For `delayMs` nothing else changes. Callers that have not noticed are still served, until
     * none comes for a moment or 2 s are over. Then the port closes. Each open connection closes after its next answer,
     * or when it is idle. Resolves when the last answer is out, or `graceMs` after the delay with the rest cut.
     */
    async drain(times: DrainTimes): Promise<void> {
      if (caps === null) await door.drain(times);
      else await Promise.all([drain({ server, reception, clock, caps }, times), door.drainBehindPort(times)]);
    },
  };
}

/**
 * Connections that wait to be accepted, as far as the system allows (`net.core.somaxconn`). Of those beyond it, callers try
 * again after 1, 3 and 7 seconds: with node's 511 a health check waited so long behind 3,000 that came at once.
 */
const backlog = 4_096;

const serverOptions: ServerOptions = {
  maxHeaderSize: headerBytesMax,
  headersTimeout: headersTimeoutMs,
  // A body has its own timer, which progress resets (http/read-body): a slow upload is not an attack, a silent one
  // is.
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 0,
  noDelay: true,
  // The parser would refuse such a request without a body; preflight refuses it with one.
  requireHostHeader: false,
  // Java and curl offer HTTP/2 over plain text with every request; RFC 9110 §7.8 lets us leave that be.
  shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
};

/** Refuses bytes that are not a request, or not one that is served here, on the bare socket. */
function createRawRefusals({ clock, onRefused }: Pick<ServerParts, 'clock' | 'onRefused'>) {
  function refuse(failure: Failure, socket: Duplex): void {
    const nowMs = clock.wallMs();
    const requestId = newRequestId(nowMs);
    onRefused(rawRefusal(requestId, failure, nowMs));
    end(failure, requestId, socket);
  }

  function end(failure: Failure, requestId: string, socket: Duplex): void {
    // The sender of bytes that are not a request may just as well reset the connection.
    socket.on('error', () => undefined);
    socket.end(rawFailure(failure, defaultDialect, requestId, clock.wallMs()));
  }

  return {
    refuse,
    onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
      // Bytes after an answer that is on its way: a second answer written here would land inside the first.
      if (error.code === 'ECONNRESET' || !socket.writable || responseOf(socket)?.headersSent === true) {
        socket.destroy();
        return;
      }
      // A caller that closed in the middle of a request was not refused. A half-closed one still reads the answer.
      if (error.code === 'HPE_INVALID_EOF_STATE') end(clientFailure(error.code), newRequestId(clock.wallMs()), socket);
      else refuse(clientFailure(error.code), socket);
    },
    onUpgrade(request: IncomingMessage, socket: Duplex): void {
      if (closeWatch(request, socket)) return;
      refuse({ kind: 'upgrade-required', message: noWebSocketHere }, socket);
    },
  };
}

const noWebSocketHere =
  'WebSockets are not supported here; send a plain POST. They are for /v1/realtime, /v1/responses and for watching a crawl.';

function clientFailure(code: string | undefined): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { kind: 'headers-too-large' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { kind: 'body-too-large', limitBytes: headerBytesMax };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { kind: 'request-timeout', message: 'The request headers took too long to arrive.' };
    default:
      return invalid(null, 'The request is not valid HTTP/1.1.');
  }
}

function listen(
  server: Server,
  host: string,
  port: number,
  bound: number | null,
): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      const address = server.address();
      resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port });
    });
    // A worker of `cluster` would take a bare descriptor for one of its primary.
    if (bound === null) server.listen({ port, host, backlog });
    else server.listen(new Socket({ fd: bound }), backlog);
  });
}
