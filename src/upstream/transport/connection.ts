import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { buildConnector, Client, Dispatcher } from 'undici';
import type { Connect, Opening } from './connect.ts';
import { type ExchangeHandler, givenUp, Seat } from './exchange-handler.ts';

export interface ConnectionParts {
  origin: URL;
  connect: Connect;
  client: typeof Client;
  /** Without an exchange, where its origin says nothing else. */
  keepAliveMs: number;
  /** If the peer offers it. */
  http2: boolean;
}

/** Reports of a connection to the pool that gives it exchanges. */
export interface ConnectionKeeper {
  /** Its exchange is over and it may carry another. */
  keep(connection: Connection): void;
  /** It has answered over HTTP/2. */
  share(connection: Connection): void;
  /** It takes no exchange any more. */
  retire(connection: Connection): void;
  /** It is being closed. */
  forget(connection: Connection): void;
  /** The peer sent unrequested bytes. */
  distrust(): void;
}

/** Upstreams' own `keep-alive: timeout=` hint is followed up to this, less a second for the way. */
const keepAliveMaxMs = 120_000;
const keepAliveMarginMs = 1_000;
/** Proxies add long policies and cookies; Python's h11 reads as much. */
const answerHeadBytesMax = 100 * 1024;
/** Some proxies take leave so of a connection that was idle for too long. */
const farewell = 'HTTP/1.1 408';
/** Streams of one HTTP/2 connection: the number that most servers allow, all of which are lost when it is cut. */
const streamsMax = 100;

/** Requests of this turn of the loop for sockets that were kept. */
let waiting: { connection: Connection; options: Dispatcher.DispatchOptions; exchange: ExchangeHandler }[] = [];
/** Undici's mark of a socket that it looks at before it writes. Where it has none, undici looks once more. */
let usedMark: symbol | undefined;

/**
 * One client of undici's: a socket at a time, which is kept alive. On it goes one exchange at a time, or, once HTTP/2 was
 * agreed and the first answer has begun, up to `streamsMax`.
 */
export class Connection {
  /** An exchange has ended on its socket: the peer may be closing it just now. */
  reused = false;
  /** When that was, for its pool. */
  answeredAtMs = 0;
  /** Answers that have begun on it. */
  answers = 0;
  private readonly keeper: ConnectionKeeper;
  private readonly client: Client;
  private opening: Opening | null = null;
  private socket: Socket | null = null;
  private work: 'idle' | 'waiting' | 'asked' = 'waiting';
  private protocol: 'http/1.1' | 'h2' = 'http/1.1';
  private awaitsHead = false;
  /** Bytes of a `100 Continue`, or that may become one, whose end has not come. */
  private continuing: Buffer | null = null;
  /** Exchanges on it. */
  private streams = 0;
  /** The most that the peer has been seen to accept at once. */
  private streamsMax = streamsMax;
  private retired = false;

  constructor(keeper: ConnectionKeeper, parts: ConnectionParts, connectTimeoutMs: number) {
    const { client: UndiciClient, origin, connect, keepAliveMs, http2 } = parts;
    this.keeper = keeper;
    this.client = new UndiciClient(origin, {
      connect: (_: buildConnector.Options, connected: buildConnector.Callback) => {
        this.reused = false;
        this.opening = connect(connectTimeoutMs, (error, socket) => {
          this.socket = socket;
          if (socket === null) return connected(error!, null);
          if (http2 && (socket as TLSSocket).alpnProtocol === 'h2') this.protocol = 'h2';
          else {
            joinWrites(socket);
            readAtOnce(socket, (chunk) => {
              if (this.work !== 'asked') return this.refuseUnasked(socket, chunk);
              if (!this.awaitsHead) return chunk;
              const isWhole = chunk.length > 9 && this.continuing === null;
              return isWhole && chunk[9] !== oneDigit ? chunk : this.pastContinue(chunk);
            });
          }
          connected(null, socket);
        });
      },
      // Over HTTP/1.1 it gets one exchange at a time. At 1, undici would look at its queue a turn after each answer, too.
      // Over HTTP/2, an exchange that a leaving peer has not begun must not wait for the running ones.
      pipelining: http2 ? streamsMax : 2,
      allowH2: http2,
      ...(http2 ? { h2Options: { maxConcurrentStreams: streamsMax, pingInterval: 0 } } : {}),
      maxHeaderSize: answerHeadBytesMax,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMaxMs,
      keepAliveTimeoutThreshold: keepAliveMarginMs,
    });
    this.client.on('disconnect', (_origin, _clients, error) => {
      if (this.protocol === 'h2') return this.retire();
      if (this.work === 'asked') return;
      // A second answer in one piece with the first, which no `readable` tells.
      if (error.message === 'bad response') keeper.distrust();
      // The request that waits in a client gets another socket from it.
      if (this.work === 'idle') this.destroy();
    });
  }

  /** Another exchange may be dispatched on it. */
  get hasRoom(): boolean {
    return this.streams < this.streamsMax;
  }

  /** False: the peer takes no more streams now, and the exchange goes elsewhere. */
  dispatch(options: Dispatcher.DispatchOptions, exchange: ExchangeHandler): boolean {
    this.streams += 1;
    this.work = 'waiting';
    if (this.protocol === 'http/1.1') {
      if (!this.reused) this.client.dispatch(options, exchange);
      else if (waiting.push({ connection: this, options, exchange }) === 1) setImmediate(Connection.dispatchWaiting);
      return true;
    }
    const seat = new Seat(exchange);
    this.client.dispatch(options, seat);
    if (seat.isTaken) return true;
    seat.leave();
    this.streams -= 1;
    this.streamsMax = Math.max(1, this.streams);
    return false;
  }

  /**
   * The loop has read what came on its sockets: an end, or bytes that nobody asked for, must not be found after a request
   * was written (GHSA-35p6-xmwp-9g52). Undici would look by an Immediate for each socket, and pass its queue once more.
   */
  private static dispatchWaiting(): void {
    const all = waiting;
    waiting = [];
    for (const { connection, options, exchange } of all) {
      const { client, socket } = connection;
      // One that has closed meanwhile is replaced by undici.
      if (connection.reused && socket !== null) {
        usedMark ??= Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'kSocketUsed');
        if (usedMark !== undefined) (socket as Socket & { [mark: symbol]: unknown })[usedMark] = false;
      }
      client.dispatch(options, exchange);
    }
  }

  /** The request of its exchange is handed to the socket now. */
  written(): void {
    this.work = 'asked';
    this.awaitsHead = true;
    this.continuing = null;
  }

  /** The answer of an exchange has begun. */
  responded(): void {
    this.answers += 1;
    this.awaitsHead = false;
    if (this.answers === 1 && this.protocol === 'h2' && !this.retired) this.keeper.share(this);
  }

  /** The answer has come whole; `unseen`: it ended with its head, and a body that follows would be read as an answer. */
  answered(end: 'seen' | 'unseen'): void {
    this.reused = true;
    if (this.protocol === 'h2') return this.endStream();
    this.work = 'idle';
    this.streams = 0;
    if (end === 'unseen') this.destroy();
    else if (this.socket?.writableLength === 0) this.keep();
    // Over TLS a socket learns a turn later that all was sent, and an answer may come before.
    else setImmediate(() => this.keep());
  }

  /**
   * An exchange is over that was not answered whole. Its socket is closed now, connected or connecting; of HTTP/2 its
   * stream is reset. `silent`: no answer has begun since it asked, so that the connection may be dead for others too.
   */
  leave(controller: Dispatcher.DispatchController | null, silent: boolean): void {
    if (this.protocol !== 'h2') return this.destroy();
    controller?.abort(givenUp);
    if (silent || this.socket?.destroyed) this.retire();
    this.endStream();
  }

  /** Closes the socket now, connected or connecting. Its exchanges get the failure. */
  destroy(): void {
    this.keeper.forget(this);
    this.client.destroy();
    // A client that connects forgets its socket; the kernel would go on trying for minutes.
    this.opening?.destroy();
    this.socket?.destroy();
  }

  private keep(): void {
    // Nobody may read the rest of a request that was answered early: the next one would wait behind it, or be read as
    // it.
    const isSent = this.socket?.writableLength === 0;
    if (isSent && !this.socket?.destroyed) this.keeper.keep(this);
    else this.destroy();
  }

  private endStream(): void {
    this.streams -= 1;
    if (this.retired && this.streams === 0) this.destroy();
  }

  /** Takes no new streams. The running ones go on; undici repeats elsewhere what the peer says it has not begun. */
  private retire(): void {
    if (this.retired) return;
    this.retired = true;
    this.keeper.retire(this);
    if (this.streams === 0) this.destroy();
  }

  /** The rest behind a `100 Continue`, for which undici would close; a client must read it unasked (RFC 9110 §15.2). */
  private pastContinue(chunk: Buffer): Buffer {
    let bytes = this.continuing === null ? chunk : Buffer.concat([this.continuing, chunk]);
    this.continuing = null;
    while (continueStart.startsWith(bytes.toString('latin1', 0, continueStart.length))) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0 && bytes.length > continueBytesMax) break;
      if (end < 0) {
        this.continuing = Buffer.from(bytes);
        return Buffer.alloc(0);
      }
      bytes = bytes.subarray(end + 4);
    }
    return bytes;
  }

  /** Bytes that come without a request are not an answer. */
  private refuseUnasked(socket: Socket, bytes: Buffer): null {
    if (!bytes.toString('latin1', 0, farewell.length).startsWith(farewell)) this.keeper.distrust();
    socket.destroy();
    return null;
  }
}

const continueStart = 'HTTP/1.1 100 ';
/** A longer head is none of a `100 Continue`. */
const continueBytesMax = 8_192;

/** First character of every status below 200. */
const oneDigit = 0x31;

/** A longer body is better sent as it is. */
const joinedBytesMax = 8_192;

/**
 * Undici writes the head of a request and its body as two pieces. A short body goes out as characters of latin1 behind
 * its head: one plain write costs less than a list of two.
 */
function joinWrites(socket: Socket): void {
  const { _writev: writeList } = socket;
  if (writeList === undefined) return;
  socket._writev = (pieces, done) => {
    const [head, body] = pieces;
    const isRequest = pieces.length === 2 && head?.encoding === 'latin1' && Buffer.isBuffer(body?.chunk);
    if (!isRequest || body.chunk.length > joinedBytesMax) return writeList.call(socket, pieces, done);
    socket._write(head.chunk + body.chunk.toString('latin1'), 'latin1', done);
  };
}

/** Parsers of undici's share state: no chunk is given to one within what another tells. */
let isReading = false;

/**
 * The rest that `taken` leaves of a chunk goes to the readers as it comes: Node's stream would keep it, and emit it a tick
 * later. What they leave, as undici does of a paused answer, is kept by the stream, and so is all that comes behind it.
 */
function readAtOnce(socket: Socket, taken: (chunk: Buffer) => Buffer | null): void {
  const { push: keep, read: readStored } = socket;
  let come: Buffer | null = null;
  /** The stream holds nothing, and the socket is being read. */
  let isAtOnce = false;
  socket.push = (pushed: Buffer | null, encoding?: BufferEncoding) => {
    const chunk = pushed === null ? null : taken(pushed);
    if (pushed !== null && chunk === null) return false;
    if (chunk?.length === 0) return true;
    isAtOnce = chunk !== null && !isReading && socket.readableLength === 0;
    if (chunk === null || !isAtOnce) return keep.call(socket, chunk, encoding);
    come = chunk;
    isReading = true;
    try {
      socket.emit('readable');
    } finally {
      isReading = false;
    }
    const left = come as Buffer | null;
    come = null;
    isAtOnce &&= left === null;
    return left === null || keep.call(socket, left);
  };
  socket.read = (size?: number) => {
    if (size !== undefined || socket.readableLength > 0 || !(isReading || isAtOnce))
      return readStored.call(socket, size);
    const chunk = come;
    come = null;
    return chunk;
  };
}
