import type { LookupFunction } from 'node:net';
import { upstreamBodyBytesMax } from '../../kernel/limits.ts';
import { createConnect } from './connect.ts';
import { ConnectionPool, restAfterAnswerMs } from './connection-pool.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import { createLookup } from './lookup.ts';
import { systemTime, type Time } from './timers.ts';
import type { Transport, UpstreamCall, UpstreamObserver, UpstreamRequest } from './upstream-call.ts';

export interface TransportOptions {
  /** How names become addresses; default: our own cache before the system's name servers. */
  lookup?: LookupFunction;
  /** PEM certificates to trust beside the built-in ones. */
  ca?: string | Buffer;
  /** Origins whose connections are kept. At one more, the longest unused one without a running exchange is closed. */
  originsMax?: number;
  /** Of one answer that came compressed. */
  decompressedBytesMax?: number;
  time?: Time;
  /** Of a connection between two exchanges; default: `restAfterAnswerMs`. */
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

/** Sends requests to upstreams. Follows no redirect: 3xx is an answer like any other. */
export function createTransport(
  options: TransportOptions = {},
): Transport & { readonly counts: Readonly<TransportCounts> } {
  const time = options.time ?? systemTime;
  const { originsMax = 256, restMs = restAfterAnswerMs } = options;
  const connectOptions = {
    lookup: options.lookup ?? createLookup({ time }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
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

  function poolOf(origin: string): ConnectionPool {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    if (pools.size >= originsMax) closeLongestUnused();
    const url = new URL(origin);
    const pool = new ConnectionPool(url.host, createConnect(url, connectOptions), {
      monotonicMs: time.monotonicMs,
      restMs,
    });
    pools.set(origin, pool);
    return pool;
  }

  function closeLongestUnused(): void {
    let oldest: [string, ConnectionPool] | undefined;
    for (const entry of pools) {
      if (entry[1].isIdle() && (oldest === undefined || entry[1].lastUsed < oldest[1].lastUsed)) oldest = entry;
    }
    // None idle: the map outgrows its limit by the origins at work, which are as many as running requests at most.
    if (oldest === undefined) return;
    pools.delete(oldest[0]);
    oldest[1].destroy();
  }

  function destroy(): void {
    state = 'closing';
    for (const pool of pools.values()) pool.destroy();
    pools.clear();
  }

  return {
    counts,
    send(request: UpstreamRequest, observer: UpstreamObserver): UpstreamCall {
      counts.running += 1;
      if (state === 'closing') return refuse(observer, host);
      const pool = poolOf(request.origin);
      requests += 1;
      pool.lastUsed = requests;
      const exchange = new Exchange(host, pool, request, observer);
      exchange.start();
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
