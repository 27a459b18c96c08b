import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { Connect, Opening } from './connect.ts';
import type { Exchange } from './exchange.ts';

const keepAliveMs = 30_000;
/** Upstreams' own `keep-alive: timeout=` hint is followed up to this, less a second for the way. */
const keepAliveMaxMs = 120_000;
const keepAliveMarginMs = 1_000;
const answerHeadBytesMax = 16 * 1024;

/** What a connection needs of its pool. */
export interface ConnectionHome {
  /** Its exchange is over and it may carry another. */
  keep(connection: Connection): void;
  forget(connection: Connection): void;
  /** The peer sent what nobody asked for. */
  distrust(): void;
}

/** One client of undici's: a socket at a time, which is kept alive, and an exchange at a time on it. */
export class Connection {
  /** An exchange has ended on its socket: the peer may be closing it just now. */
  reused = false;
  private readonly home: ConnectionHome;
  private readonly client: Client;
  private opening: Opening | null = null;
  private socket: Socket | null = null;
  private work: 'idle' | 'waiting' | 'asked' = 'waiting';

  constructor(home: ConnectionHome, origin: URL, connect: Connect, connectTimeoutMs: number) {
    this.home = home;
    this.client = new Client(origin, {
      connect: (_: buildConnector.Options, connected: buildConnector.Callback) => {
        this.reused = false;
        this.opening = connect(connectTimeoutMs, (error, socket) => {
          this.socket = socket;
          if (socket === null) return connected(error!, null);
          // Before undici's own: what comes now is no answer.
          socket.on('readable', () => this.readable());
          connected(null, socket);
        });
      },
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: answerHeadBytesMax,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMaxMs,
      keepAliveTimeoutThreshold: keepAliveMarginMs,
    });
    this.client.on('disconnect', (_origin, _clients, error) => {
      if (this.work === 'asked') return;
      // A second answer in one piece with the first, which no `readable` tells.
      if (error.message === 'bad response') home.distrust();
      // The request that waits in a client gets another socket from it.
      if (this.work === 'idle') this.destroy();
    });
  }

  /** One at a time. */
  dispatch(options: Dispatcher.DispatchOptions, exchange: Exchange): void {
    this.work = 'waiting';
    this.client.dispatch(options, exchange);
  }

  /** The request of its exchange is handed to the socket now. */
  written(): void {
    this.work = 'asked';
  }

  /** The answer has come whole; `unseen`: it ended with its head, and a body that follows would be read as an answer. */
  answered(end: 'seen' | 'unseen'): void {
    this.reused = true;
    this.work = 'idle';
    // Of a request that was answered early nobody may read the rest: the next one would wait behind it, or be read as it.
    const isSent = this.socket?.writableLength === 0;
    if (end === 'seen' && isSent && !this.socket?.destroyed) this.home.keep(this);
    else this.destroy();
  }

  /** Closes the socket now, connected or connecting. Its exchange is told. */
  destroy(): void {
    this.home.forget(this);
    this.client.destroy();
    // A client that connects forgets its socket; the kernel would go on trying for minutes.
    this.opening?.destroy();
    this.socket?.destroy();
  }

  private readable(): void {
    if (this.work === 'asked') return;
    const bytes: Buffer | null = this.socket?.read();
    if (bytes === null) return;
    // Some proxies take leave so of a connection that was idle for too long.
    if (!bytes.toString('latin1', 0, farewell.length).startsWith(farewell)) this.home.distrust();
    this.socket?.destroy();
  }
}

const farewell = 'HTTP/1.1 408';
