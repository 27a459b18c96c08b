/// <reference path="./undici-client.d.ts" />
import type { Client } from 'undici';
import { every } from '../../kernel/every.ts';
import { upstreamBodyBytesMax } from '../../kernel/limits.ts';
import { type Connect, type ConnectOptions, createConnect } from './connect.ts';
import { Connection, type ConnectionKeeper, type ConnectionParts } from './connection.ts';
import { createLookup } from './lookup.ts';
import type { ForwardProxy, ProxyOf } from './proxy.ts';
import { systemTime, type Time } from './timers.ts';
import { type TransportError, transportEnded } from './transport-error.ts';
import {
  type Authorizer,
  NotAuthorized,
  type Transport,
  type UpstreamCall,
  type UpstreamObserver,
  type UpstreamRequest,
  type UpstreamRoute,
} from './upstream-call.ts';
import { type ConnectionSource, Exchange, type ExchangeHost } from './upstream-exchange.ts';

export interface TransportOptions {
  /** How names become addresses; default: our own cache before the system's name servers. */
  lookup?: ConnectOptions['lookup'];
  /** PEM certificates to trust in addition to the built-in ones. */
  ca?: string | Buffer;
  /** The proxies of the environment; default: none. */
  proxyOf?: ProxyOf;
  /** Origins whose connections are kept. At one more, the longest unused one without a running exchange is closed. */
  originsMax?: number;
  /** Limit of one compressed answer, after decompression. */
  decompressedBytesMax?: number;
  time?: Time;
  /** Pause of a connection between two exchanges; default: `restAfterAnswerMs`. */
  restMs?: number;
  /** How long an idle connection stays open, unless its origin says otherwise; default: 30 s. */
  keepAliveMs?: number;
  /**
   * Requests that are repeated when a kept-alive socket dies under them. `unanswered` (the default): those without a
   * byte of their answer; `unsent`: only those of which nothing was written, because the peer may have done the others.
   */
  repeats?: ExchangeHost['repeats'];
}

export interface TransportCounts {
  /** Requests repeated because a kept-alive socket was closed just as it was reused. */
  retriedOnFreshSocket: number;
  /** Exchanges that have neither ended nor failed nor been aborted. */
  running: number;
  /** Sockets to upstreams: at work, idle or connecting. */
  readonly connections: number;
}

/** Interval at which timeouts of exchanges are checked. It may be coarse, since each attempt has exact timers. */
const sweepIntervalMs = 1_000;

/** Undici is loaded with the first request, so that no start waits for it. */
let undiciClient: typeof Client | null = null;

/** Sends requests to upstreams. Follows no redirect: 3xx is an answer like any other. */
export function createTransport(
  options: TransportOptions = {},
): Transport & { readonly counts: Readonly<TransportCounts> } {
  const time = options.time ?? systemTime;
  const pools = new Pools(options, time);
  /** Exchanges that wait for undici to be loaded, or for their authorization. */
  const waiting = new Set<Exchange>();
  let state: 'open' | 'closing' = 'open';
  const counts = {
    retriedOnFreshSocket: 0,
    running: 0,
    get connections() {
      return pools.connections;
    },
  };
  const { host, idle } = openHost(options, time, counts);
  const stopSweeping = every(sweepIntervalMs, () => pools.sweep(time.monotonicMs()));

  async function startLater(
    exchange: Exchange,
    request: UpstreamRequest,
    proof: Promise<readonly string[]> | readonly string[],
  ): Promise<void> {
    waiting.add(exchange);
    const headers = await Promise.resolve(proof).catch(notAuthorized);
    // Alone: the whole package takes thrice as much memory, and twice as long to load.
    undiciClient ??= (await import('undici/lib/dispatcher/client.js')).default;
    waiting.delete(exchange);
    if (exchange.isDone) return;
    if ('kind' in headers) exchange.refuse(headers);
    else exchange.start(pools.of(request, undiciClient), headers);
  }

  function destroy(): void {
    state = 'closing';
    stopSweeping();
    for (const exchange of waiting) exchange.refuse(transportEnded);
    pools.destroy();
  }

  const transport: Transport & { readonly counts: Readonly<TransportCounts> } = {
    counts,
    connect: bareConnect(pools),
    send(request: UpstreamRequest, observer: UpstreamObserver): UpstreamCall {
      counts.running += 1;
      const exchange = new Exchange(host, request, observer);
      if (state === 'closing') {
        queueMicrotask(() => exchange.refuse({ kind: 'connect', message: 'the gateway is shutting down' }));
        return exchange;
      }
      const proof = request.authorize === undefined ? noHeaders : proofOf(request, request.authorize, transport);
      if (undiciClient !== null && !(proof instanceof Promise)) exchange.start(pools.of(request, undiciClient), proof);
      else void startLater(exchange, request, proof);
      return exchange;
    },
    async close() {
      state = 'closing';
      if (counts.running > 0) await idle();
      destroy();
    },
    destroy,
  };
  return transport;
}

/** Opens the part of a transport that its exchanges call. `idle` resolves when the last of those that run has ended. */
function openHost(
  options: TransportOptions,
  time: Time,
  counts: { retriedOnFreshSocket: number; running: number },
): { host: ExchangeHost; idle(): Promise<void> } {
  let onIdle: (() => void)[] = [];
  const host: ExchangeHost = {
    decompressedBytesMax: options.decompressedBytesMax ?? upstreamBodyBytesMax,
    repeats: options.repeats ?? 'unanswered',
    monotonicMs: time.monotonicMs,
    retriedOnFreshSocket() {
      counts.retriedOnFreshSocket += 1;
    },
    finished() {
      counts.running -= 1;
      if (counts.running > 0) return;
      for (const idle of onIdle) idle();
      onIdle = [];
    },
  };
  return { host, idle: () => new Promise((resolve) => onIdle.push(resolve)) };
}

/** Opens sockets that carry no HTTP. The connector of an origin is kept, so that TLS sessions are resumed. */
function bareConnect(pools: Pools): Transport['connect'] {
  /** Connectors by origin and route: as many as there are configured providers. */
  const ways = new Map<string, Connect>();
  return ({ origin, route, connectTimeoutMs }, connected) => {
    const place = `${route?.id} ${origin}`;
    let connect = ways.get(place);
    if (connect === undefined) {
      connect = pools.wayTo(new URL(origin), route, { http2: false, tunnel: 'always' }).connect;
      ways.set(place, connect);
    }
    return connect(connectTimeoutMs, connected);
  };
}

const noHeaders: readonly string[] = Object.freeze([]);

/** Headers that authorize a request. Rejects where the authorizer throws, so no observer is called within `send`. */
function proofOf(
  request: UpstreamRequest,
  authorize: Authorizer,
  transport: Transport,
): readonly string[] | Promise<readonly string[]> {
  try {
    return authorize(request, transport);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Failure of an authorization. The message of an unknown error is left out, since it may hold a secret. */
function notAuthorized(error: unknown): TransportError {
  const message = error instanceof NotAuthorized ? error.message : 'the request could not be authorized';
  return { kind: 'not-authorized', message };
}

/** A pool for each origin and route to it. */
class Pools {
  private readonly options: TransportOptions;
  private readonly time: Time;
  private readonly lookup: ConnectOptions['lookup'];
  private readonly originsMax: number;
  private readonly pools = new Map<string, ConnectionPool>();
  private requests = 0;

  constructor(options: TransportOptions, time: Time) {
    this.options = options;
    this.time = time;
    this.lookup = options.lookup ?? createLookup({ time });
    this.originsMax = options.originsMax ?? 256;
  }

  of({ origin, route }: UpstreamRequest, client: typeof Client): ConnectionPool {
    const place = route === undefined ? origin : `${route.id} ${origin}`;
    let pool = this.pools.get(place);
    if (pool === undefined) {
      if (this.pools.size >= this.originsMax) this.closeLongestUnused();
      pool = this.open(new URL(origin), route, client);
      this.pools.set(place, pool);
    }
    this.requests += 1;
    pool.lastUsed = this.requests;
    return pool;
  }

  get connections(): number {
    let sum = 0;
    for (const pool of this.pools.values()) sum += pool.size;
    return sum;
  }

  sweep(nowMs: number): void {
    // Of a copy: swept pools may end.
    for (const { running } of this.pools.values()) for (const exchange of [...running]) exchange.sweep(nowMs);
  }

  destroy(): void {
    for (const pool of this.pools.values()) pool.destroy();
    this.pools.clear();
  }

  /** Connector that opens sockets to an origin, and its proxy; null: none. */
  wayTo(
    origin: URL,
    route: UpstreamRoute | undefined,
    form: Pick<ConnectOptions, 'http2' | 'tunnel'>,
  ): { connect: Connect; proxy: ForwardProxy | null } {
    const { options, lookup } = this;
    const way = route?.proxy ?? 'environment';
    const proxy = way === 'environment' ? (options.proxyOf?.(origin) ?? null) : way === 'off' ? null : way;
    const ca = options.ca === undefined ? route?.ca : `${options.ca}\n${route?.ca ?? ''}`;
    return {
      connect: createConnect(origin, { lookup, ca, cert: route?.cert, key: route?.key, proxy, ...form }),
      proxy,
    };
  }

  private open(origin: URL, route: UpstreamRoute | undefined, client: typeof Client): ConnectionPool {
    const { options } = this;
    const http2 = route?.http2 ?? false;
    const { connect, proxy } = this.wayTo(origin, route, { http2 });
    return new ConnectionPool({
      origin,
      proxy,
      connect,
      client,
      http2,
      monotonicMs: this.time.monotonicMs,
      restMs: options.restMs ?? restAfterAnswerMs,
      keepAliveMs: options.keepAliveMs ?? usualKeepAliveMs,
    });
  }

  private closeLongestUnused(): void {
    let oldest: [string, ConnectionPool] | undefined;
    for (const entry of this.pools) {
      if (entry[1].running.length === 0 && (oldest === undefined || entry[1].lastUsed < oldest[1].lastUsed))
        oldest = entry;
    }
    // None idle: the map outgrows its limit by the origins at work, which are as many as running requests at most.
    if (oldest === undefined) return;
    this.pools.delete(oldest[0]);
    oldest[1].destroy();
  }
}

const usualKeepAliveMs = 30_000;
/** Idle sockets kept per origin; above it a socket is closed when its exchange ends. */
const idleMax = 1_024;
/**
 * A connection carries nothing for so long after an answer: an upstream that answers twice does it at once, and its
 * second answer must not be read as that of the next request, which may be another tenant's.
 */
export const restAfterAnswerMs = 5;
/** No connection to an upstream that sent unrequested bytes is used twice for this long. */
const distrustMs = 600_000;

interface PoolParts extends ConnectionParts {
  /** Proxy for requests to an http:// origin; null: none. */
  proxy: ForwardProxy | null;
  monotonicMs: () => number;
  restMs: number;
}

/**
 * The connections to one origin, as many as there are exchanges at once, or as their streams need: how many that may be
 * is admission's matter. Not undici's `Pool`: that one looks through all busy clients, twice a request.
 */
class ConnectionPool implements ConnectionSource, ConnectionKeeper {
  /** When it was last asked for a connection, by the transport's count of requests. */
  lastUsed = 0;
  /**
   * Exchanges at work, each at its `place`. Not a Set: each table that one leaves behind holds the requests that stood
   * in it, which keeps all that they made from being collected young (measured: 55 µs a request).
   */
  readonly running: Exchange[] = [];
  readonly pathStart: string;
  readonly headers: readonly string[];
  private readonly parts: PoolParts;
  /** The latest released is taken first: the least likely to be closed by the peer, and the others may run dry. */
  private readonly idle: Connection[] = [];
  /** Connections that pause after an answer, for `restMs`; in the order of their answers. */
  private readonly resting: Connection[] = [];
  /** Connections over HTTP/2, each of which may carry several exchanges. */
  private readonly shared: Connection[] = [];
  private readonly all = new Set<Connection>();
  private distrustedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: PoolParts) {
    const { origin, proxy } = parts;
    this.parts = parts;
    const passesOn = proxy !== null && origin.protocol === 'http:';
    this.pathStart = passesOn ? origin.origin : '';
    const authorization = passesOn ? proxy.authorization : null;
    this.headers = authorization === null ? [] : ['proxy-authorization', authorization];
  }

  /** Connections at work, idle or connecting. */
  get size(): number {
    return this.all.size;
  }

  take(exchange: Exchange, nowMs: number, connectTimeoutMs: number): Connection {
    exchange.place = this.running.push(exchange) - 1;
    const { resting, idle, shared } = this;
    if (shared.length > 0 && !exchange.isUpload) {
      return shared.find((connection) => connection.hasRoom) ?? this.open(connectTimeoutMs);
    }
    const restedSinceMs = nowMs - this.parts.restMs;
    while (resting.length > 0 && resting[0]!.answeredAtMs <= restedSinceMs) idle.push(resting.shift()!);
    return idle.pop() ?? this.open(connectTimeoutMs);
  }

  open(connectTimeoutMs: number): Connection {
    const connection = new Connection(this, this.parts, connectTimeoutMs);
    this.all.add(connection);
    return connection;
  }

  ends(exchange: Exchange): void {
    const last = this.running.pop()!;
    if (last === exchange) return;
    this.running[exchange.place] = last;
    last.place = exchange.place;
  }

  destroy(): void {
    for (const connection of [...this.all]) connection.destroy();
  }

  keep(connection: Connection): void {
    const nowMs = this.parts.monotonicMs();
    connection.answeredAtMs = nowMs;
    const keeps = this.idle.length + this.resting.length < idleMax && nowMs >= this.distrustedUntilMs;
    if (keeps) this.resting.push(connection);
    else connection.destroy();
  }

  share(connection: Connection): void {
    this.shared.push(connection);
  }

  retire(connection: Connection): void {
    for (const list of [this.idle, this.resting, this.shared]) {
      const at = list.indexOf(connection);
      if (at !== -1) list.splice(at, 1);
    }
  }

  forget(connection: Connection): void {
    this.all.delete(connection);
    this.retire(connection);
  }

  distrust(): void {
    this.distrustedUntilMs = this.parts.monotonicMs() + distrustMs;
    for (const connection of [...this.idle, ...this.resting]) connection.destroy();
  }
}
