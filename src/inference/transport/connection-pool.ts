import type { Connect } from './connect.ts';
import { Connection, type ConnectionHome } from './connection.ts';
import type { Exchange } from './exchange.ts';
import type { ForwardProxy } from './proxy.ts';

/** Idle sockets kept per origin; above it a socket is closed when its exchange ends. */
const idleMax = 1_024;
/**
 * A connection carries nothing for so long after an answer: an upstream that answers twice does it at once, and its
 * second answer must not be read as that of the next request, which may be another tenant's.
 */
export const restAfterAnswerMs = 5;
/** No connection to an upstream that sent what nobody asked for is used twice for so long. */
const distrustMs = 600_000;

interface PoolOptions {
  /** Where an http:// origin's requests go to a proxy. */
  proxy: ForwardProxy | null;
  monotonicMs: () => number;
  restMs: number | undefined;
}

/**
 * The connections to one origin, as many as there are exchanges at once: how many that may be is admission's matter.
 * Not undici's `Pool`: that one looks through all busy clients, twice a request.
 */
export class ConnectionPool implements ConnectionHome {
  /** When it was last asked for a connection, by the transport's count of requests. */
  lastUsed = 0;
  /**
   * Exchanges at work, each at its `place`. Not a Set: each table that one leaves behind holds the requests that stood in
   * it, which keeps all that they made from being collected young (measured: 55 µs a request).
   */
  readonly running: Exchange[] = [];
  /** What the path of a request begins with: the whole origin, for a proxy that passes requests on. */
  readonly pathStart: string;
  /** For that proxy. */
  readonly headers: readonly string[];
  private readonly origin: URL;
  private readonly connect: Connect;
  private readonly monotonicMs: () => number;
  private readonly restMs: number;
  /** The latest released is taken first: the least likely to be closed by the peer, and the others may run dry. */
  private readonly idle: Connection[] = [];
  /** Since their answers, in the order of those. */
  private readonly resting: { connection: Connection; sinceMs: number }[] = [];
  private readonly all = new Set<Connection>();
  private distrustedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(origin: URL, connect: Connect, { proxy, monotonicMs, restMs = restAfterAnswerMs }: PoolOptions) {
    this.origin = origin;
    const passesOn = proxy !== null && origin.protocol === 'http:';
    this.pathStart = passesOn ? origin.origin : '';
    const authorization = passesOn ? proxy.authorization : null;
    this.headers = authorization === null ? [] : ['proxy-authorization', authorization];
    this.connect = connect;
    this.monotonicMs = monotonicMs;
    this.restMs = restMs;
  }

  /** `connectTimeoutMs` counts if a socket must be opened. */
  take(connectTimeoutMs: number): Connection {
    this.wakeRested();
    return this.idle.pop() ?? this.open(connectTimeoutMs);
  }

  open(connectTimeoutMs: number): Connection {
    const connection = new Connection(this, this.origin, this.connect, connectTimeoutMs);
    this.all.add(connection);
    return connection;
  }

  /** Connections at work, idle or connecting. */
  get size(): number {
    return this.all.size;
  }

  destroy(): void {
    for (const connection of [...this.all]) connection.destroy();
  }

  begins(exchange: Exchange): void {
    exchange.place = this.running.length;
    this.running.push(exchange);
  }

  ends(exchange: Exchange): void {
    const last = this.running.pop()!;
    if (last === exchange) return;
    this.running[exchange.place] = last;
    last.place = exchange.place;
  }

  // From its connections.

  keep(connection: Connection): void {
    const nowMs = this.monotonicMs();
    const keeps = this.idle.length + this.resting.length < idleMax && nowMs >= this.distrustedUntilMs;
    if (keeps) this.resting.push({ connection, sinceMs: nowMs });
    else connection.destroy();
  }

  forget(connection: Connection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at !== -1) this.idle.splice(at, 1);
    const restingAt = this.resting.findIndex((one) => one.connection === connection);
    if (restingAt !== -1) this.resting.splice(restingAt, 1);
  }

  distrust(): void {
    this.distrustedUntilMs = this.monotonicMs() + distrustMs;
    for (const connection of [...this.idle, ...this.resting.map((one) => one.connection)]) connection.destroy();
  }

  private wakeRested(): void {
    const { resting } = this;
    if (resting.length === 0) return;
    const restedSinceMs = this.monotonicMs() - this.restMs;
    let rested = 0;
    while (rested < resting.length && resting[rested]!.sinceMs <= restedSinceMs) rested += 1;
    for (const { connection } of resting.splice(0, rested)) this.idle.push(connection);
  }
}
