import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
// Not from 'undici' itself: its index loads fetch, WebSocket and caches too, a good 50 ms of our cold start.
import Client from 'undici/lib/dispatcher/client.js';
import type { Connect } from './connect.ts';

const keepAliveMs = 30_000;
/** Upstreams' own `keep-alive: timeout=` hint is followed up to this, less a second for the way. */
const keepAliveMaxMs = 120_000;
const keepAliveMarginMs = 1_000;
/** Idle sockets kept per origin; above it a socket is closed when its exchange ends. */
const idleMax = 1_024;

/**
 * One keep-alive connection: a `Client` of undici's, which is a socket with a parser. Not undici's `Pool`, because that
 * one hides which socket an exchange has, so that it can neither be closed while it connects nor asked whether it is
 * fresh, and because it looks through all busy clients for each request.
 */
export class Connection {
  readonly client: Client;
  /** An exchange has ended on its socket: the peer may be closing it just now. */
  reused = false;
  private readonly pool: ConnectionPool;
  private socket: Socket | null = null;
  private atWork = true;

  constructor(pool: ConnectionPool, origin: URL, connect: Connect, connectTimeoutMs: number) {
    this.pool = pool;
    this.client = new Client(origin, {
      connect: (_: buildConnector.Options, connected: buildConnector.Callback) => {
        this.socket = connect(connectTimeoutMs, (error, socket) => {
          if (socket !== null) connected(null, socket);
          else if (error !== null) connected(error, null);
        });
      },
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMaxMs,
      keepAliveTimeoutThreshold: keepAliveMarginMs,
      allowH2: false,
    });
    this.client.on('disconnect', () => this.onDisconnect());
  }

  /** Ready for another exchange once the parser is done with this one; undici queues what comes earlier. */
  release(): void {
    if (this.client.destroyed) return;
    this.reused = true;
    this.atWork = false;
    this.pool.keep(this);
  }

  take(): this {
    this.atWork = true;
    return this;
  }

  /** Closes the socket now, connected or connecting. Its exchange is told unless it has let go. */
  destroy(error: Error | null = null): void {
    this.pool.forget(this);
    this.client.destroy(error, () => undefined);
    // A client that connects forgets its socket; the kernel would go on trying for minutes.
    this.socket?.destroy();
  }

  private onDisconnect(): void {
    this.socket = null;
    // At work, the request that waits in the client gets another socket from it.
    if (this.atWork) this.reused = false;
    else this.pool.forget(this);
  }
}

/** The connections to one origin, as many as there are exchanges at once: how many that may be is admission's matter. */
export class ConnectionPool {
  /** When it was last asked for a connection, by the transport's count of requests. */
  lastUsed = 0;
  private readonly origin: URL;
  private readonly connect: Connect;
  /** The latest released is taken first: the least likely to be closed by the peer, and the others may run dry. */
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();

  constructor(origin: URL, connect: Connect) {
    this.origin = origin;
    this.connect = connect;
  }

  /** `connectTimeoutMs` counts if a socket must be opened. */
  take(connectTimeoutMs: number): Connection {
    return this.idle.pop()?.take() ?? this.open(connectTimeoutMs);
  }

  open(connectTimeoutMs: number): Connection {
    const connection = new Connection(this, this.origin, this.connect, connectTimeoutMs);
    this.all.add(connection);
    return connection;
  }

  keep(connection: Connection): void {
    if (this.idle.length < idleMax) this.idle.push(connection);
    else connection.destroy();
  }

  forget(connection: Connection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at !== -1) this.idle.splice(at, 1);
  }

  get size(): number {
    return this.all.size;
  }

  /** No exchange runs here. */
  isIdle(): boolean {
    return this.idle.length === this.all.size;
  }

  destroy(): void {
    for (const connection of [...this.all]) connection.destroy();
  }
}
