import type { LookupFunction } from 'node:net';
import { upstreamBodyBytesMax } from '../../kernel/limits.ts';
import { createConnect } from './connect.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import { createLookup } from './lookup.ts';
import type { ForwardProxy, ProxyOf } from './proxy.ts';
import { systemTime, type Time } from './timers.ts';
import type { Transport, UpstreamCall, UpstreamObserver, UpstreamRequest, UpstreamRoute } from './upstream-call.ts';

export interface TransportOptions {
  /** How names become addresses; default: our own cache before the system's name servers. */
  lookup?: LookupFunction;
  /** PEM certificates to trust beside the built-in ones. */
  ca?: string | Buffer;
  /** The proxies of the environment; default: none. */
  proxyOf?: ProxyOf;
  /** Origins whose connections are kept. At one more, the longest unused one without a running exchange is closed. */
  originsMax?: number;
  /** Of one answer that came compressed. */
  decompressedBytesMax?: number;
  time?: Time;
  /** Of a connection between two exchanges; default: `connection-pool`'s. */
  restMs?: number;
}

export interface TransportCounts {
  /** Requests repeated because a kept-alive socket was closed just as it was reused. */
  retriedOnFreshSocket: number;
  /** Exchanges that have neither ended nor failed nor been aborted. */
  running: number;
  /** Sockets to upstreams: at work, idle or connecting. */
  readonly connections: number;
}

/** How exact an exchange's timeouts are: they stand behind an attempt's own. */
const sweepIntervalMs = 1_000;

type Pools = typeof import('./connection-pool.ts');

/** Undici is loaded with the first request, so that no start waits for it. */
let loaded: Pools | null = null;

async function load(): Promise<Pools> {
  loaded = await import('./connection-pool.ts');
  return loaded;
}

/** Sends requests to upstreams. Follows no redirect: 3xx is an answer like any other. */
export function createTransport(
  options: TransportOptions = {},
): Transport & { readonly counts: Readonly<TransportCounts> } {
  const time = options.time ?? systemTime;
  const { originsMax = 256 } = options;
  const lookup = options.lookup ?? createLookup({ time });
  const pools = new Map<string, ConnectionPool>();
  const counts = {
    retriedOnFreshSocket: 0,
    running: 0,
    get connections() {
      let sum = 0;
      for (const pool of pools.values()) sum += pool.size;
      return sum;
    },
  };
  /** Until undici is loaded. */
  const waiting = new Set<Exchange>();
  let requests = 0;
  let state: 'open' | 'closing' = 'open';
  let onIdle: (() => void)[] = [];

  const host: ExchangeHost = {
    decompressedBytesMax: options.decompressedBytesMax ?? upstreamBodyBytesMax,
    monotonicMs: time.monotonicMs,
    retriedOnFreshSocket() {
      counts.retriedOnFreshSocket += 1;
    },
    finished() {
      counts.running -= 1;
      if (counts.running > 0) return;
      for (const told of onIdle) told();
      onIdle = [];
    },
  };

  const sweeper = setInterval(() => {
    const nowMs = time.monotonicMs();
    // Of a copy: what is swept may end.
    for (const { running } of pools.values()) for (const exchange of [...running]) exchange.sweep(nowMs);
  }, sweepIntervalMs);
  sweeper.unref();

  function start(exchange: Exchange, { origin, route }: UpstreamRequest, { ConnectionPool }: Pools): void {
    if (exchange.isDone) return;
    const place = route === undefined ? origin : `${route.id} ${origin}`;
    let pool = pools.get(place);
    if (pool === undefined) {
      if (pools.size >= originsMax) closeLongestUnused();
      const url = new URL(origin);
      const proxy = proxyTo(url, route);
      const ca = options.ca === undefined ? route?.ca : `${options.ca}\n${route?.ca ?? ''}`;
      const connect = createConnect(url, { lookup, ca, cert: route?.cert, key: route?.key, proxy });
      pool = new ConnectionPool(url, connect, { proxy, monotonicMs: time.monotonicMs, restMs: options.restMs });
      pools.set(place, pool);
    }
    requests += 1;
    pool.lastUsed = requests;
    exchange.start(pool);
  }

  function proxyTo(origin: URL, route: UpstreamRoute | undefined): ForwardProxy | null {
    if (route === undefined || route.proxy === 'environment') return options.proxyOf?.(origin) ?? null;
    return route.proxy === 'off' ? null : route.proxy;
  }

  function closeLongestUnused(): void {
    let oldest: [string, ConnectionPool] | undefined;
    for (const entry of pools) {
      if (entry[1].running.length === 0 && (oldest === undefined || entry[1].lastUsed < oldest[1].lastUsed))
        oldest = entry;
    }
    // None idle: the map outgrows its limit by the origins at work, which are as many as running requests at most.
    if (oldest === undefined) return;
    pools.delete(oldest[0]);
    oldest[1].destroy();
  }

  function destroy(): void {
    state = 'closing';
    clearInterval(sweeper);
    for (const exchange of waiting) exchange.refuse();
    for (const pool of pools.values()) pool.destroy();
    pools.clear();
  }

  return {
    counts,
    send(request: UpstreamRequest, observer: UpstreamObserver): UpstreamCall {
      counts.running += 1;
      if (state === 'closing') return refuse(observer, host);
      const exchange = new Exchange(host, request, observer);
      if (loaded !== null) start(exchange, request, loaded);
      else {
        waiting.add(exchange);
        load().then((pools) => {
          waiting.delete(exchange);
          start(exchange, request, pools);
        });
      }
      return exchange;
    },
    async close() {
      state = 'closing';
      if (counts.running > 0) await new Promise<void>((told) => onIdle.push(told));
      destroy();
    },
    destroy,
  };
}

function refuse(observer: UpstreamObserver, host: ExchangeHost): UpstreamCall {
  let state: 'waiting' | 'done' = 'waiting';
  const finish = (): boolean => {
    if (state === 'done') return false;
    state = 'done';
    host.finished();
    return true;
  };
  queueMicrotask(() => {
    if (finish()) observer.failed({ kind: 'connect', message: 'the gateway is shutting down' });
  });
  return { abort: finish, pause() {}, resume() {} };
}
