import type { Connection } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';
import {
  createDecompressor,
  type Decompressor,
  type DecompressorSink,
  type Encoding,
  encodingOf,
} from './decompress.ts';
import { requestHead } from './request-head.ts';
import { lostConnection, transportErrorOf } from './transport-error.ts';
import type {
  TransportError,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamObserver,
  UpstreamRequest,
  UpstreamUpload,
} from './upstream-call.ts';
import type { WireObserver, WireRequest } from './wire-exchange.ts';
import { WireFailure } from './wire-failure.ts';

/**
 * A kept-alive socket that dies under a request shows it within a round trip. One that dies later belonged to an
 * upstream that had begun to work on it: that is a failure to be told, and not ours to repeat unseen.
 */
const staleSocketMs = 2_000;

/** What an exchange needs of its transport. */
export interface ExchangeHost {
  decompressedBytesMax: number;
  monotonicMs(): number;
  retriedOnFreshSocket(): void;
  /** Called once per exchange, when no more is told of it. */
  finished(): void;
}

/** `waiting` for a socket → `sent` → `done`. */
type ExchangeState = 'waiting' | 'sent' | 'done';

/** One request and its answer; the connection's observer and the caller's handle in one object. */
export class Exchange implements UpstreamCall, WireObserver, DecompressorSink {
  private readonly host: ExchangeHost;
  private readonly pool: ConnectionPool;
  private readonly observer: UpstreamObserver;
  private readonly connectTimeoutMs: number;
  private readonly request: WireRequest | null;
  private state: ExchangeState = 'waiting';
  private connection: Connection | null = null;
  private encoding: Encoding | null = null;
  private decompressor: Decompressor | null = null;
  private held = false;
  /** The decompressor has enough for now. */
  private inputFull = false;
  /** -1 when it was written on a fresh socket, as every repeated one is. */
  private sentOnReusedAtMs = -1;

  constructor(host: ExchangeHost, pool: ConnectionPool, request: UpstreamRequest, observer: UpstreamObserver) {
    this.host = host;
    this.pool = pool;
    this.observer = observer;
    this.connectTimeoutMs = request.connectTimeoutMs;
    const { method, path, headers, body, headersTimeoutMs, bodyTimeoutMs } = request;
    const head = requestHead({ method, path, host: pool.host, headers, bodyBytes: bytesOf(body, method) });
    this.request = head === null ? null : { head, body, headersTimeoutMs, bodyTimeoutMs };
  }

  start(): void {
    if (this.request !== null) this.sendOn(this.request, this.pool.take(this.connectTimeoutMs));
    // Not before `send` has returned.
    else queueMicrotask(() => this.breakOff(transportErrorOf(new WireFailure('unwritable-head'))));
  }

  abort(): void {
    if (this.state === 'done') return;
    this.finish();
    this.letGo();
  }

  pause(): void {
    this.held = true;
    this.decompressor?.pause();
    this.connection?.pause();
  }

  resume(): void {
    if (!this.held) return;
    this.held = false;
    this.decompressor?.resume();
    this.readOn();
  }

  // From the connection.

  written(): void {
    this.state = 'sent';
    this.sentOnReusedAtMs = this.connection?.reused ? this.host.monotonicMs() : -1;
  }

  head(status: number, headers: UpstreamHeaders): void {
    if (this.state === 'done') return;
    const encoding = encodingOf(headers.get('content-encoding'));
    if (encoding === undefined) {
      this.breakOff({ kind: 'decode', message: 'the answer has a Content-Encoding that was not asked for' });
      return;
    }
    this.encoding = encoding;
    this.observer.headers(status, headers);
  }

  bytes(piece: Buffer): void {
    if (this.state === 'done') return;
    if (this.encoding === null) {
      this.observer.data(piece);
      return;
    }
    this.decompressor ??= this.openDecompressor(this.encoding);
    if (this.decompressor.write(piece) === 'ready') return;
    this.inputFull = true;
    this.connection?.pause();
  }

  over(): void {
    this.connection = null;
    if (this.decompressor === null) this.ended();
    else this.decompressor.end();
  }

  broken(error: Error, answer: 'begun' | 'not begun'): void {
    if (this.state === 'done') return;
    if (answer === 'not begun' && this.onStaleSocket(error)) this.sendOnFreshSocket();
    else this.breakOff(transportErrorOf(error));
  }

  // From the decompressor.

  data(chunk: Buffer): void {
    this.observer.data(chunk);
  }

  drained(): void {
    this.inputFull = false;
    this.readOn();
  }

  ended(): void {
    if (this.state === 'done') return;
    this.finish();
    this.observer.ended();
  }

  failed(reason: string): void {
    this.breakOff({ kind: 'decode', message: reason });
  }

  private sendOn(request: WireRequest, connection: Connection): void {
    this.connection = connection;
    this.state = 'waiting';
    connection.send(request, this);
    if (this.held) connection.pause();
  }

  private openDecompressor(encoding: Encoding): Decompressor {
    const decompressor = createDecompressor(encoding, this.host.decompressedBytesMax, this);
    if (this.held) decompressor.pause();
    return decompressor;
  }

  /** Later: whoever resumes may stand within what was just shown. */
  private readOn(): void {
    queueMicrotask(() => {
      if (!this.held && !this.inputFull) this.connection?.resume();
    });
  }

  /** Nothing was written yet, or the peer closed as it was. */
  private onStaleSocket(error: Error): boolean {
    if (!this.connection?.reused || !(lostConnection(error) || isUnasked(error))) return false;
    return this.state === 'waiting' || this.host.monotonicMs() - this.sentOnReusedAtMs <= staleSocketMs;
  }

  private sendOnFreshSocket(): void {
    if (this.state === 'sent') this.host.retriedOnFreshSocket();
    this.sendOn(this.request!, this.pool.open(this.connectTimeoutMs));
  }

  private breakOff(error: TransportError): void {
    if (this.state === 'done') return;
    this.finish();
    this.letGo();
    this.observer.failed(error);
  }

  private letGo(): void {
    this.decompressor?.destroy();
    this.connection?.letGo();
    this.connection = null;
  }

  private finish(): void {
    this.state = 'done';
    this.host.finished();
  }
}

/** What was sent ahead on an idle socket says nothing of the request that was about to take it. */
function isUnasked(error: Error): boolean {
  return error instanceof WireFailure && error.code === 'unasked-answer';
}

/** Null: a request that has no body by its method. */
function bytesOf(body: Buffer | string | UpstreamUpload | null, method: 'POST' | 'GET'): number | null {
  if (body === null) return method === 'GET' ? null : 0;
  if (typeof body === 'string') return Buffer.byteLength(body);
  return 'open' in body ? body.bytes : body.length;
}
