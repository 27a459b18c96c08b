import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type KeyRing, noKeySent, unknownKey } from '../books/auth/key-ring.ts';
import type { Operator } from '../books/auth/operator.ts';
import type { Principal } from '../books/auth/principal.ts';
import type { Admission } from '../books/metering/admission.ts';
import type { Refusal } from '../books/metering/refusal.ts';
import type { SharedTally } from '../books/metering/tally.ts';
import type { Config } from '../config/schema.ts';
import { gemini } from '../formats/dialects/gemini/index.ts';
import { Ending } from '../inference/families/realtime/realtime-session.ts';
import type { Delivery } from '../inference/spine/sink.ts';
import { BriefMap } from '../kernel/brief.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, invalid, isFailure, unauthenticated } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import { plainAddress } from '../kernel/network.ts';
import type { Room } from '../kernel/sharing/room.ts';
import type { Trace, Traces } from '../kernel/trace.ts';
import { basePathOf } from '../kernel/web/base-path.ts';
import { ServerResponse as ServerResponseOfNode } from '../kernel/web/node-http.ts';
import { watchForEnd, withProtocolKey } from './accept-web-socket.ts';
import { createClientAddress, createTrust } from './client-address.ts';
import { keepAliveMs } from './connections/connection-caps.ts';
import { Pipelined } from './connections/pipelined.ts';
import { applyCors, originRefused } from './cors.ts';
import { countFailed, createLoginThrottle, type LoginThrottle } from './dashboard/login-throttle.ts';
import type { SessionDoor } from './dashboard/session-door.ts';
import { ResponseDelivery, writeFailure } from './delivery.ts';
import type { Exchange, Route, Upgrade } from './exchange.ts';
import { Overload } from './overload.ts';
import { noParams, RouteTable } from './route-table.ts';

export interface ReceptionParts {
  clock: Clock;
  /** Checks who may enter. */
  keys: Pick<KeyRing, 'authenticate' | 'authenticateAdmin' | 'byGuest'>;
  /** Looks whether another process has made a key that is not known. */
  lookForKey(): Promise<void>;
  /** Checks the cookies of browsers, which send no key; null: there is no dashboard. */
  sessions: SessionDoor | null;
  /** Counts wrong admin keys on all replicas; null: there is one process. */
  tally: SharedTally | null;
  admission: Admission;
  bodies: Room;
  routes: readonly Route[];
  /** The configuration in force. */
  readonly snapshots: {
    readonly current: {
      readonly config: {
        readonly server: Pick<
          Config['server'],
          'cors_origins' | 'trusted_proxies' | 'connections_per_address' | 'public_url' | 'overload'
        >;
      };
    };
  };
  /** Null: nobody traces. */
  traces: Traces | null;
  /** Called for every request that got an error before anything was held for it. */
  onRefused(refusal: Refusal): void;
  /** Called for unexpected errors; the caller got a 500 with the request id. */
  onUnexpected(error: unknown, requestId: string, trace: Trace | null): void;
}

/** The way of a request from node to the handler of its route: looked over, routed, its caller known and admitted. */
export class Reception {
  /**
   * From `unready` on health checks shall connect again, to another server if there is one. `draining`: no WebSocket is
   * opened. `closed`: everybody shall connect again.
   */
  state: 'open' | 'unready' | 'draining' | 'closed' = 'open';
  /** Requests whose handlers run. */
  running = 0;
  /** Called when none does any more. */
  onIdle: (() => void) | null = null;
  /** Time of the last request that needs a key: health checks go on, whatever answer they get. */
  lastCallMs = Number.NEGATIVE_INFINITY;
  private readonly parts: ReceptionParts;
  /** Clients whose requests run, by request id, without WebSockets. */
  private readonly clients = new BriefMap<ResponseDelivery>();
  /** For work that goes on after its answer. */
  readonly ending = new Ending();
  /** Connections that are WebSockets, or may become one. */
  private readonly upgraded = new Set<Duplex>();
  private readonly adminKeys: LoginThrottle;
  readonly overload: Overload;
  private readonly table: RouteTable;
  private readonly clientAddress: ReturnType<typeof createClientAddress>;
  private readonly isProxy: ReturnType<typeof createTrust>;
  private readonly pipelined = new Pipelined((request, response) => this.receive(request, response));

  constructor(parts: ReceptionParts) {
    this.parts = parts;
    this.overload = new Overload({
      clock: parts.clock,
      delayMs: () => {
        const { overload } = parts.snapshots.current.config.server;
        return overload === 'off' ? null : overload.delay;
      },
    });
    this.adminKeys = createLoginThrottle(parts.clock, parts.tally, 'admin-keys');
    this.clientAddress = createClientAddress(() => parts.snapshots.current.config.server.trusted_proxies);
    this.isProxy = createTrust(() => parts.snapshots.current.config.server.trusted_proxies);
    const basePath = () => basePathOf(parts.snapshots.current.config.server.public_url);
    this.table = new RouteTable(parts.routes, undefined, basePath);
  }

  /** Handles everything that comes on a connection. */
  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (response.socket === null) this.pipelined.add(request, response);
    else this.receive(request, response);
  };

  /** Handles a request for a WebSocket; false where none can be opened. */
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const found = this.table.find('GET', (request.url ?? '/').split('?', 1)[0]!);
    if (found?.route.webSocket !== true) return false;
    const response = new ServerResponseOfNode(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    // What is written to a connection that the caller has reset.
    socket.on('error', () => undefined);
    response.on('finish', () => socket.end());
    this.upgraded.add(socket);
    socket.once('close', () => this.upgraded.delete(socket));
    this.receive(request, response, { socket, head, stopWatching: watchForEnd(socket, response) });
    return true;
  }

  /** Whether a connection is a WebSocket, or may become one. */
  isUpgraded(socket: Duplex): boolean {
    return this.upgraded.has(socket);
  }

  /** Whether such a request is served when there is no place for a connection more: health checks and operators. */
  isAlwaysServed(method: string, path: string): boolean {
    const route = this.table.find(method, path)?.route;
    return route !== undefined && route.auth !== 'key';
  }

  /** Ends all requests that still run: each caller reads why, in its format. */
  cutRequests(): void {
    for (const client of [...this.clients.values()]) client.cut(cutShort);
  }

  /** Cuts sessions over WebSockets that have not come to their end. */
  cutSessions(): void {
    this.ending.cut();
    for (const socket of this.upgraded) socket.destroy();
  }

  private receive(request: IncomingMessage, response: ServerResponse, upgrade: Upgrade | null = null): void {
    const { parts } = this;
    // It crossed the end of its connection. No answer can leave, so nothing is begun for it.
    if (this.state === 'closed' && request.socket.writableEnded) return void request.socket.destroy();
    // Node shows it as `Keep-Alive: timeout=75`. An application's server has set another.
    (response as Hinting)._keepAliveTimeout ||= keepAliveMs;
    const atMs = parts.clock.wallMs();
    const url = request.url ?? '/';
    const queryAt = url.indexOf('?');
    const path = queryAt === -1 ? url : url.slice(0, queryAt);
    const method = request.method ?? '';
    const clientId = request.headers['x-request-id'];
    const found = (method === 'POST' ? this.table.plainPosts.get(path) : undefined) ?? this.table.find(method, path);
    const { cors_origins, public_url } = parts.snapshots.current.config.server;
    const unanswered: Omit<Exchange, 'client'> & { client: Delivery | null } = {
      request,
      response,
      client: null,
      requestId: newRequestId(atMs),
      clientRequestId: typeof clientId === 'string' && saneId.test(clientId) ? clientId : null,
      publicUrl: public_url,
      path: found?.path ?? path,
      search: queryAt === -1 ? '' : url.slice(queryAt + 1),
      params: found?.params ?? noParams,
      route:
        found === null
          ? null
          : found.route.otherFormats === undefined
            ? found.route
            : inFormatOf(found.route, request.headers),
      atMs,
      startedMs: parts.clock.monotonicMs(),
      principal: null,
      operator: null,
      admitted: null,
      trace: null,
      held: null,
      upgrade,
      ending: this.ending,
      dropsBody: false,
      onRefused: parts.onRefused,
      givenBody: null,
    };
    const client = new ResponseDelivery(unanswered, parts.clock);
    unanswered.client = client;
    const exchange = unanswered as Exchange;

    const unfit = preflight(request);
    if (unfit !== null) {
      response.shouldKeepAlive = false;
      return this.refuse(exchange, unfit);
    }
    if (cors_origins.length > 0 && applyCors(request, response, cors_origins)) return;
    const { route } = exchange;
    if (route === null) {
      const { failure, dialect } = this.table.refusalOf(method, path);
      return this.refuse(exchange, originRefused(request) ?? failure, this.table.dialectOf(request.headers) ?? dialect);
    }
    if (this.state !== 'open' && (this.state === 'closed' || route.auth === 'none')) response.shouldKeepAlive = false;
    if (upgrade !== null && (this.state === 'draining' || this.state === 'closed'))
      return this.refuse(exchange, shuttingDown);
    const { traces } = parts;
    if (traces !== null && route.auth === 'key') {
      const { atMs, startedMs } = exchange;
      exchange.trace = traces.begin({ atMs, startedMs, headers: request.headers });
    }
    void this.serve(exchange, route, client);
  }

  /** The caller of a request that has no valid key of this server. */
  private async guest(exchange: Exchange, headers: IncomingMessage['headers']): Promise<Principal | Failure | null> {
    const { request, route } = exchange;
    const signed = await route?.signed?.(exchange, () => this.clientAddress(request));
    if (signed !== undefined && signed !== null) {
      if (isFailure(signed)) return signed;
      exchange.givenBody = signed.body;
      return signed.principal;
    }
    return this.parts.keys.byGuest({
      headers,
      address: () => this.clientAddress(request),
      fromProxy: () => this.isProxy(plainAddress(request.socket.remoteAddress ?? '')),
    });
  }

  /** The order of refusal of design §6: key, account, requests per minute; the rest is the handler's. Never rejects. */
  private async serve(exchange: Exchange, route: Route, client: ResponseDelivery): Promise<void> {
    const { keys, lookForKey, sessions, admission, bodies, onUnexpected } = this.parts;
    const { request, response, requestId } = exchange;
    try {
      if (route.auth === 'admin') {
        let who: Operator | Failure = keys.authenticateAdmin(request.headers);
        if (who === noKeySent && sessions !== null) who = await sessions.operator(exchange);
        if (who === unknownKey) who = await lookForKey().then(() => keys.authenticateAdmin(request.headers));
        if (isFailure(who)) {
          return this.refuse(exchange, route.endpoint === 'admin' ? await this.wrongAdminKey(request, who) : who);
        }
        exchange.operator = who;
      } else if (route.auth === 'key') {
        this.lastCallMs = exchange.startedMs;
        const { upgrade, search } = exchange;
        const inQuery = route.dialect === gemini && search.includes('key=') && !request.headers['x-goog-api-key'];
        const headers = upgrade !== null || inQuery ? withProtocolKey(request.headers, search) : request.headers;
        let principal =
          route.lets?.(headers, search) ??
          keys.authenticate(headers, () => this.clientAddress(request), request.socket);
        if (principal === unknownKey) {
          await lookForKey();
          principal = keys.authenticate(headers, () => this.clientAddress(request), request.socket);
        }
        if (isFailure(principal)) {
          if (principal === noKeySent && sessions !== null) principal = await sessions.principal(exchange);
          if (isFailure(principal)) principal = (await this.guest(exchange, headers)) ?? principal;
          if (isFailure(principal)) return this.refuse(exchange, principal);
        }
        exchange.principal = principal;
        const { overload } = this;
        if (overload.engaged) {
          if ((await overload.take({ account: principal.account, client: exchange.client })) === 'refuse') {
            return this.refuseBusy(exchange);
          }
        } else {
          overload.calls += 1;
          if (!overload.watching && this.parts.snapshots.current.config.server.overload !== 'off') overload.look();
        }
        if (route.quota !== 'none') {
          const granting = admission.admit(principal, route.quota, { requestId, form: route.limitForm ?? 'openai' });
          const granted = granting instanceof Promise ? await granting : granting;
          if (granted.kind !== 'admitted') return this.refuse(exchange, granted);
          exchange.admitted = granted;
        }
      }
      if (route.auth !== 'none') exchange.held = bodies.hold(exchange.principal?.account ?? '');
      this.running += 1;
      if (exchange.upgrade === null) this.clients.set(requestId, client);
      try {
        const done = route.handle(exchange);
        if (done !== undefined) await done;
      } finally {
        exchange.admitted?.release();
        exchange.held?.giveBack();
        this.running -= 1;
        this.clients.take(requestId);
        if (this.running === 0 && this.onIdle !== null) this.onIdle();
      }
    } catch (error) {
      onUnexpected(error, requestId, exchange.trace);
      if (response.headersSent) response.destroy();
      else this.refuse(exchange, { kind: 'internal' });
    } finally {
      if (exchange.trace !== null) this.endTrace(exchange.trace, exchange, route);
    }
  }

  /**
   * Answer to a wrong admin key; after several of one address, that they come too often. A right key always passes:
   * otherwise others could lock out an operator with the same address. No key of 16 characters is guessed at that rate.
   */
  private async wrongAdminKey(request: IncomingMessage, failure: Failure): Promise<Failure> {
    if (failure.kind !== 'unauthenticated' || failure === noKeySent) return failure;
    return countFailed(this.adminKeys, this.clientAddress(request), failure);
  }

  /** A proxy's connection has requests of others, who must not wait for this one. */
  private refuseBusy(exchange: Exchange): void {
    const { request, response, upgrade } = exchange;
    const { headers } = request;
    const isProxied = headers['x-forwarded-for'] ?? headers.forwarded ?? headers.via;
    this.refuse(exchange, busy);
    if (isProxied === undefined && upgrade === null && this.state === 'open') this.overload.rest(response);
  }

  private endTrace(trace: Trace, exchange: Exchange, route: Route): void {
    const { requestId, clientRequestId, request, response, client, principal } = exchange;
    const end = {
      requestId,
      clientRequestId,
      method: request.method ?? '',
      route: route.path,
      status: client.disconnected && !response.headersSent ? 499 : response.statusCode,
      account: principal?.account ?? '',
      keyId: principal?.keyId ?? '',
      about: null,
    };
    trace.end(end, this.parts.clock.monotonicMs());
  }

  private refuse(exchange: Exchange, failure: Failure, dialectHint?: Route['dialect']): void {
    const { path, admitted } = exchange;
    const dialect = exchange.route?.dialect ?? dialectHint ?? this.table.dialectNear(path);
    writeFailure(exchange, failure, dialect, this.parts.clock.wallMs(), admitted?.headers);
  }
}

/** The private part of node's response that says how long its connection is kept. */
type Hinting = ServerResponse & { _keepAliveTimeout?: number };

function inFormatOf(route: Route, headers: IncomingMessage['headers']): Route {
  return route.otherFormats?.find(({ header }) => headers[header] !== undefined)?.route ?? route;
}

/** A name or an address, of IPv6 in brackets, and a port. */
const plainHost = /^(?:[\w.~%-]{0,255}|\[[\da-fA-F:.]{2,45}(?:%[\w.~%-]{1,64})?\])(?::\d{0,5})?$/;
/** A caller's own request id that is fit for logs and headers. */
const saneId = /^[\w.:-]{1,128}$/;

/**
 * Refuses requests that node's own parser lets through and a proxy must not (faults.md S6): no Host header or two, an
 * absolute-form target, a Host that could move the path, two Authorizations of which node shows one. Null when the
 * request is fit to be routed.
 */
function preflight({ url = '', headers, rawHeaders, httpVersion }: IncomingMessage): Failure | null {
  if (url.charCodeAt(0) !== 0x2f) return invalid(null, 'The request target must be a path that begins with /.');
  let hosts = 0;
  let authorization: string | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      const value = rawHeaders[i + 1]!;
      if (authorization !== null && authorization !== value) return twoAuthorizations;
      authorization = value;
    }
  }
  if (hosts > 1) return invalid(null, 'The request has more than one Host header.');
  if (hosts === 0 && httpVersion === '1.1') return invalid(null, 'The request has no Host header. Send one.');
  if (headers.host !== undefined && !plainHost.test(headers.host)) {
    return invalid(null, 'The Host header is not a plain host and port.');
  }
  return null;
}

const shuttingDown: Failure = { kind: 'overloaded', message: 'This server is shutting down. Connect again.' };

const cutShort: Failure = {
  kind: 'overloaded',
  message: 'This server shut down before the answer was complete. Send the request again.',
};

const busy: Failure = {
  kind: 'overloaded',
  message: 'This server has more requests than it can serve, and your account its share of them. Retry shortly.',
};

const twoAuthorizations = unauthenticated('The request has two different Authorization headers. Send one.');
