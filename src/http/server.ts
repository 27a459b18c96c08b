import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import type { Principal } from '../auth/principal.ts';
import { openAiChat } from '../inference/dialects/openai-chat/index.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, invalid } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import { headerBytesMax, headersTimeoutMs } from '../kernel/limits.ts';
import { createServer } from '../kernel/node-http.ts';
import type { Room } from '../kernel/sharing/room.ts';
import type { Admission } from '../metering/admission.ts';
import type { Refusal } from '../metering/refusal.ts';
import { createClientAddress, createTrust } from './client-address.ts';
import { capConnections } from './connection-caps.ts';
import { applyCors } from './cors.ts';
import { ResponseDelivery } from './delivery.ts';
import type { Exchange, Route } from './exchange.ts';
import { oneAtATime, responseOf } from './one-at-a-time.ts';
import { preflight, saneRequestId } from './preflight.ts';
import { rawRefusal } from './refusal-of.ts';
import { createRouteTable } from './route-table.ts';
import { stopListening } from './stop-listening.ts';
import { rawFailure, writeFailure } from './write-failure.ts';

export interface ServerParts {
  clock: Clock;
  admission: Admission;
  /** For bodies in memory. */
  bodies: Room;
  routes: readonly Route[];
  /** Who presents these headers; a Failure (401, 403) otherwise. `addressOf` is asked where a key is bound to some. */
  authenticate(headers: IncomingMessage['headers'], addressOf: () => string | null): Principal | Failure;
  /** Null when the admin key is presented. */
  authenticateAdmin(headers: IncomingMessage['headers']): Failure | null;
  /** Origins that browsers may call from, as configured right now. */
  corsOrigins(): readonly string[];
  /** Networks of proxies whose X-Forwarded-For is believed, as configured right now. */
  trustedProxies(): readonly string[];
  /** Connections of one address, as configured right now; undefined: the default. */
  connectionsPerAddress(): number | undefined;
  /** Told of every request that got an error before anything was held for it. */
  onRefused(refusal: Refusal): void;
  /** Told, once a second at most, how many connections were closed unread, there being no descriptors for more. */
  onDropped(connections: number): void;
  /** Told of errors that nobody expected; the caller got a 500 naming the request id. */
  onUnexpected(error: unknown, requestId: string): void;
}

export interface GatewayServer {
  listen(host: string, port: number): Promise<{ host: string; port: number }>;
  /**
   * `draining` at once; callers who have not noticed are still served, until none comes for a moment or 2 s are over;
   * then nothing more is accepted, and each connection that stands closes behind its next answer, or when it is idle.
   * Resolves when the last answer is out, or after `graceMs` with the rest cut.
   */
  drain(graceMs: number): Promise<void>;
  readonly draining: boolean;
}

/** How long a balancer has to see /readyz say no before connections are refused, at most. */
const unreadyNoticeMs = 2_000;
/** No request for this long: whoever sends them has noticed, or there is nobody. */
const quietMs = 250;
const noticeStepMs = 25;
/** A kept-alive connection whose last answer is out holds the end up no longer than this. */
const idleSweepIntervalMs = 50;
/** How long a request whose caller is gone may take to come to its end. */
const settleMaxMs = 1_000;

const defaultDialect: Route['dialect'] = openAiChat;

export function createGatewayServer(parts: ServerParts): GatewayServer {
  const { clock } = parts;
  const table = createRouteTable(parts.routes);
  const clientAddress = createClientAddress(parts.trustedProxies);
  let draining = false;
  /** Nothing is accepted any more. */
  let closed = false;
  let running = 0;
  /** Of the last request that needs a key: health checks go on whatever they are told. */
  let lastCallMs = Number.NEGATIVE_INFINITY;
  let onIdle: (() => void) | null = null;

  const inTurn = oneAtATime(onRequest);
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      // A body has its own timer, fed by progress (http/read-body): a slow upload is no attack, a silent one is.
      requestTimeout: 0,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 75_000,
      noDelay: true,
      // Java and curl offer HTTP/2 over plain text with every request; RFC 9110 §7.8 lets us leave that be.
      shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    inTurn,
  );
  server.on('checkContinue', inTurn);
  server.on('checkExpectation', inTurn);
  server.on('clientError', onClientError);
  server.on('upgrade', onUpgrade);
  server.on('connect', (_request, socket) => socket.destroy());

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const atMs = clock.wallMs();
    const requestId = newRequestId(atMs);
    const url = request.url ?? '/';
    const queryAt = url.indexOf('?');
    const path = queryAt === -1 ? url : url.slice(0, queryAt);
    const method = request.method ?? '';
    const found = table.find(method, path);
    const route = found?.route ?? null;
    const seen = {
      request,
      response,
      requestId,
      clientRequestId: saneRequestId(request.headers['x-request-id']),
      path,
      search: queryAt === -1 ? '' : url.slice(queryAt + 1),
      params: found?.params ?? {},
      route,
      atMs,
      startedMs: clock.monotonicMs(),
      principal: null,
      admitted: null,
      held: null,
      dropsBody: false,
      onRefused: parts.onRefused,
      givenBody: null,
    };
    const exchange: Exchange = Object.assign(seen, { client: new ResponseDelivery(seen, clock) });
    const dialect = route?.dialect ?? table.above(path)?.dialect ?? defaultDialect;
    const refuse = (failure: Failure) =>
      writeFailure(exchange, failure, dialect, clock.wallMs(), exchange.admitted?.headers);

    const unfit = preflight(request);
    if (unfit !== null) {
      response.shouldKeepAlive = false;
      return refuse(unfit);
    }
    if (parts.corsOrigins().length > 0 && applyCors(request, response, parts.corsOrigins())) return;
    if (route === null) return refuse(unrouted(method, path));
    // Who asks how we are shall connect anew, to another if there is one.
    if (closed || (draining && route.auth === 'none')) response.shouldKeepAlive = false;

    serve(exchange, route).catch((error: unknown) => {
      parts.onUnexpected(error, requestId);
      if (response.headersSent) response.destroy();
      else refuse({ kind: 'internal' });
    });
  }

  /** The order of refusal of design §6: key, account, requests per minute; the rest is the handler's. */
  async function serve(exchange: Exchange, route: Route): Promise<void> {
    const refuse = (failure: Failure) => writeFailure(exchange, failure, route.dialect, clock.wallMs());
    if (route.auth === 'admin') {
      const failure = parts.authenticateAdmin(exchange.request.headers);
      if (failure !== null) return refuse(failure);
    } else if (route.auth === 'key') {
      lastCallMs = exchange.startedMs;
      const principal = parts.authenticate(exchange.request.headers, () => clientAddress(exchange.request));
      if ('kind' in principal) return refuse(principal);
      exchange.principal = principal;
      if (route.quota !== 'none') {
        const granted = parts.admission.admit(principal, route.quota, {
          requestId: exchange.requestId,
          form: route.limitForm ?? 'openai',
        });
        const admitted = granted instanceof Promise ? await granted : granted;
        if (admitted.kind !== 'admitted') return refuse(admitted);
        exchange.admitted = admitted;
      }
    }
    running += 1;
    if (route.auth !== 'none') exchange.held = parts.bodies.hold(exchange.principal?.account ?? '');
    try {
      const done = route.handle(exchange);
      if (done !== undefined) await done;
    } finally {
      exchange.admitted?.release();
      exchange.held?.giveBack();
      running -= 1;
      if (running === 0 && onIdle !== null) onIdle();
    }
  }

  function unrouted(method: string, path: string): Failure {
    const allowed = table.methodsOf(path);
    if (allowed.length > 0) return { kind: 'method-not-allowed', method, path: path.slice(0, 200), allowed };
    return { kind: 'not-found', message: `There is no ${path.slice(0, 200)} here. ${table.listed}` };
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    // Bytes after an answer that is on its way: a second answer written here would land inside the first.
    if (error.code === 'ECONNRESET' || !socket.writable || responseOf(socket)?.headersSent === true) {
      socket.destroy();
      return;
    }
    // Who closed in the middle of a request was not refused; a half-closed one still reads the answer.
    if (error.code === 'HPE_INVALID_EOF_STATE') endRaw(clientFailure(error.code), newRequestId(clock.wallMs()), socket);
    else refuseRaw(clientFailure(error.code), socket);
  }

  function onUpgrade(_request: IncomingMessage, socket: Duplex): void {
    refuseRaw({ kind: 'upgrade-required', message: 'WebSockets are not supported here; send a plain POST.' }, socket);
  }

  function refuseRaw(failure: Failure, socket: Duplex): void {
    const nowMs = clock.wallMs();
    const requestId = newRequestId(nowMs);
    parts.onRefused(rawRefusal(requestId, failure, nowMs));
    endRaw(failure, requestId, socket);
  }

  function endRaw(failure: Failure, requestId: string, socket: Duplex): void {
    // Who sent bytes that are no request may reset the connection just as well.
    socket.on('error', () => undefined);
    socket.end(rawFailure(failure, defaultDialect, requestId, clock.wallMs()));
  }

  /** Resolves when no request runs, `ms` at the latest. */
  function idleWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        onIdle = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      onIdle = done;
    });
  }

  /** Resolves when no request that needs a key has come for a moment, when it is `over`, `maxMs` at the latest. */
  async function quiet(maxMs: number, over = () => false): Promise<void> {
    const byMs = clock.monotonicMs() + maxMs;
    while (!over() && clock.monotonicMs() < Math.min(byMs, lastCallMs + quietMs)) await rest(noticeStepMs);
  }

  return {
    get draining() {
      return draining;
    },
    async listen(host, port) {
      const listening = await listen(server, host, port);
      capConnections(server, {
        perAddress: parts.connectionsPerAddress,
        isTrusted: createTrust(parts.trustedProxies),
        refuse: (socket, message) => refuseRaw({ kind: 'overloaded', message }, socket),
        onDropped: parts.onDropped,
      });
      return listening;
    },
    async drain(graceMs) {
      draining = true;
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await quiet(Math.min(unreadyNoticeMs, graceMs / 2));
      // Until here connections are kept: a proxy that keeps some makes no new ones, which the system would reset if the
      // port closed before they are accepted.
      const { closed: ended } = await stopListening(server, clock);
      closed = true;
      // One that is closed just as it is used again costs a request: first each that is in use closes behind an answer.
      let over = false;
      const allEnded = ended.then(() => {
        over = true;
      });
      await Promise.race([allEnded, quiet(unreadyNoticeMs, () => over)]);
      const sweep = setInterval(() => server.closeIdleConnections(), idleSweepIntervalMs);
      await ended;
      // For what http has beside: it looks for slow headers until then.
      server.close();
      clearInterval(sweep);
      clearTimeout(cut);
      // Those that were cut have their ends to settle.
      if (running > 0) await idleWithin(settleMaxMs);
    },
  };
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
