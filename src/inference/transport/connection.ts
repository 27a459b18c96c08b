import type { Socket } from 'node:net';
import type { AnswerHead } from './answer-head.ts';
import { AnswerParser, type AnswerSink } from './answer-parser.ts';
import type { Connect, SocketOwner } from './connect.ts';
import { pour } from './pour.ts';
import type { ConnectFailure } from './transport-error.ts';
import type { WireObserver, WireRequest } from './wire-exchange.ts';
import { WireFailure } from './wire-failure.ts';
import { writeWhole } from './write-whole.ts';

const keepAliveMs = 30_000;
/** Upstreams' own `keep-alive: timeout=` hint is followed up to this, less a second for the way. */
const keepAliveMaxMs = 120_000;
const keepAliveMarginMs = 1_000;

/** What a connection needs of its pool. */
export interface ConnectionHome {
  monotonicMs(): number;
  /** Calls `write` once the loop has looked at its sockets again. */
  writeSoon(connection: Connection): void;
  /** Its exchange is over and it may carry another. */
  keep(connection: Connection): void;
  forget(connection: Connection): void;
  /** The peer sent what nobody asked for. */
  distrust(): void;
}

/** One keep-alive connection: HTTP/1.1 over one socket, one exchange at a time (RFC 9112). */
export class Connection implements AnswerSink, SocketOwner {
  /** An exchange has ended on its socket: the peer may be closing it just now. */
  reused = false;
  paused = false;
  private readonly home: ConnectionHome;
  private readonly socket: Socket;
  private readonly parser = new AnswerParser(this);
  private standing: 'connecting' | 'open' | 'closed' = 'connecting';
  private observer: WireObserver | null = null;
  /** Of the exchange; still to be written when `toWrite`. */
  private request: WireRequest | null = null;
  private toWrite = false;
  private answer: 'begun' | 'not begun' = 'not begun';
  private keptAlive = false;
  private keepMs = keepAliveMs;
  /** Came while paused. */
  private rest: Buffer | null = null;
  /** How the socket ended while an answer was paused: told when that has been read as far as it came. */
  private ending: Error | 'end' | null = null;
  /** An upload is on its way. */
  private pouring = false;
  /** Something last happened: for the outer timeouts and the idle one. */
  private sinceMs: number;
  private headSeen = false;

  constructor(home: ConnectionHome, connect: Connect, connectTimeoutMs: number) {
    this.home = home;
    this.sinceMs = home.monotonicMs();
    this.socket = connect(connectTimeoutMs, this);
  }

  /** One at a time. Nothing is told before it has returned. */
  send(request: WireRequest, observer: WireObserver): void {
    this.observer = observer;
    this.request = request;
    this.toWrite = true;
    this.answer = 'not begun';
    this.headSeen = false;
    this.rest = null;
    if (this.standing !== 'open') return;
    this.socket.ref();
    // A kept-alive socket may hold what nobody asked for, or its end: the loop sees it first.
    this.home.writeSoon(this);
  }

  write(): void {
    const { request, observer, socket } = this;
    if (request === null || observer === null || !this.toWrite) return;
    this.toWrite = false;
    this.sinceMs = this.home.monotonicMs();
    this.parser.begin();
    observer.written();
    const { head, body } = request;
    if (body === null) socket.write(head, 'latin1');
    else if (typeof body === 'object' && 'open' in body) {
      socket.write(head, 'latin1');
      this.pouring = true;
      pour(body, socket, () => {
        this.sinceMs = this.home.monotonicMs();
      }).then(
        () => {
          this.pouring = false;
        },
        (error: unknown) => this.fail(error instanceof Error ? error : new Error(String(error))),
      );
    } else writeWhole(socket, head, body);
  }

  pause(): void {
    this.paused = true;
    // Its head is told all the same, and the loop must see that it comes.
    if (this.standing === 'open' && this.headSeen) this.socket.pause();
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.sinceMs = this.home.monotonicMs();
    if (this.standing !== 'open') return;
    const { rest } = this;
    this.rest = null;
    if (this.answer === 'begun') this.parse(rest ?? nothing);
    if (this.paused || this.standing !== 'open') return;
    if (this.ending === null) this.socket.resume();
    else this.lost(this.ending);
  }

  /** Closes the socket now, connected or connecting. Its exchange is told unless it has let go. */
  destroy(): void {
    this.fail(new WireFailure('destroyed'));
  }

  /** Nobody is told any more. */
  letGo(): void {
    this.observer = null;
    this.destroy();
  }

  /** Of an idle one: since its answer ended. */
  idleMs(nowMs: number): number {
    return nowMs - this.sinceMs;
  }

  /** Of an idle one: the upstream still keeps it, as far as it said. */
  isKept(nowMs: number): boolean {
    return nowMs - this.sinceMs < this.keepMs;
  }

  /** Closes what has been idle for too long, and fails what has been silent for too long. */
  sweep(nowMs: number): void {
    const sinceMs = nowMs - this.sinceMs;
    if (this.request === null) {
      if (this.standing === 'open' && !this.isKept(nowMs)) this.destroy();
    } else if (!this.toWrite && !this.paused) {
      const { headersTimeoutMs, bodyTimeoutMs } = this.request;
      if (sinceMs < (this.headSeen ? bodyTimeoutMs : headersTimeoutMs)) return;
      this.fail(new WireFailure(this.headSeen ? 'body-timeout' : 'headers-timeout'));
    }
  }

  // From the socket.

  connected(error: ConnectFailure | null, socket: Socket | null): void {
    if (this.standing !== 'connecting') return;
    if (socket === null) return this.fail(error!);
    this.standing = 'open';
    socket.on('error', (broken) => this.lost(broken));
    socket.on('end', () => this.lost('end'));
    socket.on('close', () => this.lost(this.ended()));
    this.write();
  }

  received(bytes: Buffer): void {
    if (this.standing === 'closed') return;
    if (bytes.length === 0) return;
    if (this.request === null || this.toWrite) return this.unasked(bytes);
    this.answer = 'begun';
    // Hints, and a head that comes byte by byte, are no answer in time.
    if (this.headSeen) this.sinceMs = this.home.monotonicMs();
    // Read before the socket stood still.
    if (this.paused && this.headSeen) this.rest = this.rest === null ? bytes : Buffer.concat([this.rest, bytes]);
    else this.parse(bytes);
  }

  // From the parser.

  head(head: AnswerHead): void {
    this.headSeen = true;
    this.sinceMs = this.home.monotonicMs();
    const { keepAliveHintS: hintS } = head;
    this.keepMs = hintS === null ? keepAliveMs : Math.min(hintS * 1_000 - keepAliveMarginMs, keepAliveMaxMs);
    this.keptAlive = head.keptAlive && endsVisibly(head) && this.keepMs > 0;
    this.observer?.head(head.status, head.headers);
  }

  bytes(piece: Buffer): void {
    this.observer?.bytes(piece);
  }

  private parse(input: Buffer): void {
    let at: number;
    try {
      at = this.parser.read(input, 0);
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)));
    }
    if (this.standing !== 'open') return;
    if (this.parser.isOver) this.finish(at < input.length ? 'more came' : 'clean');
    else {
      if (at < input.length) this.rest = input.subarray(at);
      if (this.paused && this.headSeen) this.socket.pause();
    }
  }

  private finish(behind: 'clean' | 'more came'): void {
    const { observer } = this;
    // Of a request that was answered early nobody may read the rest: the next one would wait behind it, or be read as it.
    const sent = !this.pouring && this.socket.writableLength === 0;
    this.observer = null;
    this.request = null;
    // Bytes behind an answer are another one, which nobody asked for.
    if (behind === 'more came') this.home.distrust();
    if (!this.keptAlive || !sent || this.ending !== null || behind === 'more came') this.destroy();
    else {
      this.reused = true;
      if (this.paused) this.socket.resume();
      this.paused = false;
      this.socket.unref();
      this.home.keep(this);
    }
    observer?.over();
  }

  private unasked(bytes: Buffer): void {
    // Some proxies take leave so of a connection that was idle for too long.
    if (!bytes.toString('latin1', 0, farewell.length).startsWith(farewell)) this.home.distrust();
    this.fail(new WireFailure('unasked-answer'));
  }

  private lost(ending: Error | 'end'): void {
    if (this.standing !== 'open') return;
    // A TLS socket is read on while it is paused: its end comes before what it said has been taken.
    if (this.paused && this.headSeen && this.request !== null && !this.toWrite) this.ending ??= ending;
    else if (ending === 'end') this.peerEnded();
    else this.fail(ending);
  }

  private peerEnded(): void {
    if (this.request === null || this.toWrite) return this.fail(this.ended());
    try {
      this.parser.close();
    } catch (error) {
      return this.fail(error as Error);
    }
    this.keptAlive = false;
    this.finish('clean');
  }

  private ended(): WireFailure {
    return new WireFailure(this.answer === 'begun' && this.request !== null ? 'cut' : 'closed');
  }

  private fail(error: Error): void {
    if (this.standing === 'closed') return;
    this.standing = 'closed';
    this.home.forget(this);
    const { observer } = this;
    this.observer = null;
    this.request = null;
    this.rest = null;
    this.socket.destroy();
    observer?.broken(error, this.answer);
  }
}

const nothing = Buffer.alloc(0);
const farewell = 'HTTP/1.1 408';

/** An answer without a body (204, 304, a length of 0) may have one all the same: it would be read as the next answer. */
function endsVisibly({ bodyEnds }: AnswerHead): boolean {
  return bodyEnds === 'by length' || bodyEnds === 'by chunks';
}
