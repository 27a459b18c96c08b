import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, invalid } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import { headerBytesMax, headersTimeoutMs } from '../kernel/limits.ts';
import { createServer } from '../kernel/node-http.ts';
import { createTrust } from './client-address.ts';
import { closeWatch } from './close-watch.ts';
import { type ConnectionCaps, capConnections } from './connection-caps.ts';
import { responseOf } from './pipelined.ts';
import { defaultDialect, Reception, type ReceptionParts } from './receive-request.ts';
import { rawFailure, rawRefusal } from './refusal.ts';
import { stopListening } from './stop-listening.ts';

export interface ServerParts extends ReceptionParts {
  /** Told, once a second at most, how many connections were closed unread, there being no descriptors for more. */
  onDropped(connections: number): void;
}

export interface GatewayServer {
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /**
   * `draining` at once. Callers that have not noticed are still served, until none comes for a moment or 2 s are over.
   * Then nothing more is accepted, and each open connection closes after its next answer, or when it is idle. Resolves
   * when the last answer is out, or after `graceMs` with the rest cut.
   */
  drain(graceMs: number): Promise<void>;
  readonly draining: boolean;
  /** Requests whose handlers run. */
  readonly running: number;
}

/** How long a balancer has to see /readyz say no before connections are refused, at most. */
const unreadyNoticeMs = 2_000;
/** No request for this long: callers have noticed, or there are none. */
const quietMs = 250;
const noticeStepMs = 25;
/** A kept-alive connection whose last answer is out holds the end up no longer than this. */
const idleSweepIntervalMs = 50;
/** A caller that connected before the port closed has this long to ask. */
const silentMaxMs = 1_000;
/** How long a request whose caller is gone may take to come to its end. */
const settleMaxMs = 1_000;

export function createGatewayServer(parts: ServerParts): GatewayServer {
  const { clock, snapshot } = parts;
  const reception = new Reception(parts);
  const raw = createRawRefusals(parts);
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      // A body has its own timer, which progress resets (http/read-body): a slow upload is not an attack, a silent one
      // is.
      requestTimeout: 0,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 75_000,
      noDelay: true,
      // Java and curl offer HTTP/2 over plain text with every request; RFC 9110 §7.8 lets us leave that be.
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    reception.onRequest,
  );
  server.on('checkContinue', reception.onRequest);
  server.on('checkExpectation', reception.onRequest);
  server.on('clientError', raw.onClientError);
  server.on('upgrade', (request, socket, head) => {
    if (!reception.onUpgrade(request, socket, head)) raw.onUpgrade(request, socket);
  });
  server.on('connect', (_request, socket) => socket.destroy());

  let caps: ConnectionCaps | null = null;

  return {
    get running() {
      return reception.running;
    },
    get draining() {
      return reception.state !== 'open';
    },
    async listen(host, port) {
      const listening = await listen(server, host, port);
      caps = capConnections(server, {
        perAddress: () => snapshot().config.server.connections_per_address,
        isTrusted: createTrust(() => snapshot().config.server.trusted_proxies),
        refuse: (socket, message) => raw.refuse({ kind: 'overloaded', message }, socket),
        onDropped: parts.onDropped,
      });
      return listening;
    },
    drain: (graceMs) => drain(server, reception, { clock, caps }, graceMs),
  };
}

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
  'WebSockets are not supported here; send a plain POST. They are for /v1/realtime and for watching a crawl.';

async function drain(
  server: Server,
  reception: Reception,
  { clock, caps }: { clock: Clock; caps: ConnectionCaps | null },
  graceMs: number,
): Promise<void> {
  reception.state = 'draining';
  const cut = setTimeout(() => {
    server.closeAllConnections();
    reception.cutSessions();
  }, graceMs);
  await quiet(reception, clock, Math.min(unreadyNoticeMs, graceMs / 2));
  // Until here connections are kept: a proxy that keeps some makes no new ones, which the system would reset if the
  // port closed before they are accepted.
  const { closed: ended } = await stopListening(server, clock);
  reception.state = 'closed';
  reception.ending.drain();
  // A connection that closes just as it is used again costs a request. So each busy one closes after an answer first.
  let over = false;
  const allEnded = ended.then(() => {
    over = true;
  });
  await Promise.race([allEnded, quiet(reception, clock, unreadyNoticeMs, () => over)]);
  const sweep = setInterval(() => server.closeIdleConnections(), idleSweepIntervalMs);
  // Browsers keep spare connections, on which http waits for a request.
  const silent = caps?.silent() ?? [];
  const leave = setTimeout(() => {
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
  }, silentMaxMs);
  await ended;
  clearTimeout(leave);
  // Node's http also looks for slow headers until then.
  server.close();
  clearInterval(sweep);
  clearTimeout(cut);
  // Those that were cut have their ends to settle.
  if (reception.running > 0) await idleWithin(reception, settleMaxMs);
}

/** Resolves when no request that needs a key has come for a moment, when it is `over`, `maxMs` at the latest. */
async function quiet(reception: Reception, clock: Clock, maxMs: number, over = () => false): Promise<void> {
  const byMs = clock.monotonicMs() + maxMs;
  while (!over() && clock.monotonicMs() < Math.min(byMs, reception.lastCallMs + quietMs)) await rest(noticeStepMs);
}

/** Resolves when no request runs, `ms` at the latest. */
function idleWithin(reception: Reception, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      reception.onIdle = null;
      resolve();
    };
    const timer = setTimeout(done, ms);
    reception.onIdle = done;
  });
}

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

function listen(server: Server, host: string, port: number): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port });
    });
  });
}
