import type { Dispatcher } from 'undici';
import type { Connection, ConnectionPool } from './connection-pool.ts';
import {
  createDecompressor,
  type Decompressor,
  type DecompressorSink,
  type Encoding,
  encodingOf,
} from './decompress.ts';
import { lostConnection, transportErrorOf } from './transport-error.ts';
import type {
  TransportError,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamObserver,
  UpstreamRequest,
  UpstreamUpload,
} from './upstream-call.ts';

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

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** `starting` inside undici's dispatch → `waiting` for a socket → `sent` → `answering` (a first byte came) → `done`. */
type ExchangeState = 'starting' | 'waiting' | 'sent' | 'answering' | 'done';

/** One request and its answer; undici's handler and the caller's handle in one object, the only one per request. */
export class Exchange implements UpstreamCall, Dispatcher.DispatchHandler, DecompressorSink {
  private readonly host: ExchangeHost;
  private readonly pool: ConnectionPool;
  private readonly observer: UpstreamObserver;
  private readonly connectTimeoutMs: number;
  private readonly options: Dispatcher.DispatchOptions;
  private readonly upload: UpstreamUpload | null;
  private state: ExchangeState = 'starting';
  private connection: Connection | null = null;
  private controller: Dispatcher.DispatchController | null = null;
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
    const { body } = request;
    this.upload = isUpload(body) ? body : null;
    const length = this.upload === null ? [] : ['content-length', String(this.upload.bytes)];
    this.options = {
      path: request.path,
      method: request.method,
      // Compressing tokens one by one costs both sides more than it saves; who compresses all the same is understood.
      headers: [...request.headers, ...length, 'accept-encoding', 'identity'],
      body: isUpload(body) ? null : body,
      headersTimeout: request.headersTimeoutMs,
      bodyTimeout: request.bodyTimeoutMs,
    };
  }

  start(): void {
    this.dispatchOn(this.pool.take(this.connectTimeoutMs));
  }

  abort(): void {
    if (this.state === 'done') return;
    this.finish();
    this.letGo();
  }

  pause(): void {
    this.held = true;
    this.decompressor?.pause();
    this.controller?.pause();
  }

  resume(): void {
    if (!this.held) return;
    this.held = false;
    this.decompressor?.resume();
    this.readOn();
  }

  // From undici.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.state = 'sent';
    this.sentOnReusedAtMs = this.connection?.reused ? this.host.monotonicMs() : -1;
    if (this.held) controller.pause();
  }

  onResponseStarted(): void {
    if (this.state === 'sent') this.state = 'answering';
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (this.state === 'done' || status < 200) return;
    const encoding = encodingOf(joined(headers['content-encoding']));
    if (encoding === undefined) {
      this.breakOff({ kind: 'decode', message: 'the answer has a Content-Encoding that was not asked for' });
      return;
    }
    this.encoding = encoding;
    this.observer.headers(status, new ReadHeaders(headers));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.state === 'done') return;
    if (this.encoding === null) {
      this.observer.data(chunk);
      return;
    }
    this.decompressor ??= this.openDecompressor(this.encoding);
    if (this.decompressor.write(chunk) === 'ready') return;
    this.inputFull = true;
    this.controller?.pause();
  }

  onResponseEnd(): void {
    this.connection?.release();
    this.connection = null;
    this.controller = null;
    if (this.decompressor === null) this.ended();
    else this.decompressor.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.state === 'done') return;
    // A request that undici refuses is told before `send` has returned: let it return first.
    if (this.state === 'starting') queueMicrotask(() => this.breakOff(transportErrorOf(error)));
    else if (this.isStaleSocket(error)) this.retryOnFreshSocket();
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

  private dispatchOn(connection: Connection): void {
    this.connection = connection;
    this.state = 'starting';
    connection.client.dispatch(this.upload === null ? this.options : uploading(this.options, this.upload), this);
    if (this.state === 'starting') this.state = 'waiting';
  }

  private openDecompressor(encoding: Encoding): Decompressor {
    const decompressor = createDecompressor(encoding, this.host.decompressedBytesMax, this);
    if (this.held) decompressor.pause();
    return decompressor;
  }

  /** Later, because undici's parser cannot be resumed from within a callback of any other connection's parser. */
  private readOn(): void {
    queueMicrotask(() => {
      if (!this.held && !this.inputFull) this.controller?.resume();
    });
  }

  private isStaleSocket(error: Error): boolean {
    if (this.state !== 'sent' || this.sentOnReusedAtMs < 0 || !lostConnection(error)) return false;
    return this.host.monotonicMs() - this.sentOnReusedAtMs <= staleSocketMs;
  }

  private retryOnFreshSocket(): void {
    this.controller = null;
    this.connection?.destroy();
    this.host.retriedOnFreshSocket();
    this.dispatchOn(this.pool.open(this.connectTimeoutMs));
  }

  private breakOff(error: TransportError): void {
    if (this.state === 'done') return;
    this.finish();
    this.letGo();
    this.observer.failed(error);
  }

  private letGo(): void {
    this.decompressor?.destroy();
    this.connection?.destroy();
    this.connection = null;
  }

  private finish(): void {
    this.state = 'done';
    this.controller = null;
    this.host.finished();
  }
}

function isUpload(body: UpstreamRequest['body']): body is UpstreamUpload {
  return body !== null && typeof body === 'object' && 'open' in body;
}

/** A request that is sent again begins the body anew. undici takes any iterable; its types do not say so. */
function uploading(options: Dispatcher.DispatchOptions, upload: UpstreamUpload): Dispatcher.DispatchOptions {
  return { ...options, body: upload.open() as unknown as Buffer };
}

class ReadHeaders implements UpstreamHeaders {
  private readonly headers: IncomingHeaders;

  constructor(headers: IncomingHeaders) {
    this.headers = headers;
  }

  get(name: string): string | undefined {
    return joined(this.headers[name]);
  }
}

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
