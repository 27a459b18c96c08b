import type { Dispatcher } from 'undici';
import type { Connection } from './connection.ts';
import {
  createDecompressor,
  type Decompressor,
  type DecompressorSink,
  type Encoding,
  encodingOf,
} from './decompress.ts';
import type { TransportError } from './transport-error.ts';
import { bodyTimeout, headersTimeout, lostConnection, transportErrorOf, wasDestroyed } from './transport-error.ts';
import {
  isUploadBody,
  type UpstreamCall,
  type UpstreamHeaders,
  type UpstreamObserver,
  type UpstreamRequest,
  type UpstreamUpload,
} from './upstream-call.ts';

/**
 * A kept-alive socket that dies under a request shows it within a round trip. One that dies later belonged to an
 * upstream that had begun to work on it: that is a failure to report, and not ours to repeat unseen.
 */
const staleSocketMs = 2_000;

/** The side of the transport that an exchange needs. */
export interface ExchangeHost {
  decompressedBytesMax: number;
  repeats: 'unanswered' | 'unsent';
  monotonicMs(): number;
  retriedOnFreshSocket(): void;
  /** Called once per exchange, when it reports no more. */
  finished(): void;
}

/** Where an exchange gets its connections: one origin, by one route. */
export interface ConnectionSource {
  /** Beginning of a request's path: the whole origin, for a proxy that passes requests on. */
  readonly pathStart: string;
  /** For that proxy. */
  readonly headers: readonly string[];
  /** For an exchange that begins now. `connectTimeoutMs` counts if a socket must be opened. */
  take(exchange: Exchange, nowMs: number, connectTimeoutMs: number): Connection;
  /** A new one, in place of one that takes no more. */
  open(connectTimeoutMs: number): Connection;
  ends(exchange: Exchange): void;
}

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** `starting` inside undici's dispatch → `waiting` for a socket → `sent` → `answering` (a first byte came) → `done`. */
type ExchangeState = 'starting' | 'waiting' | 'sent' | 'answering' | 'done';

const endless = Number.POSITIVE_INFINITY;
const noHeaders: IncomingHeaders = {};

/** One request and its answer; undici's handler and the caller's handle in one object. */
export class Exchange implements UpstreamCall, UpstreamHeaders, Dispatcher.DispatchHandler, DecompressorSink {
  /** Among those of its pool that are at work. */
  place = 0;
  private readonly host: ExchangeHost;
  private readonly observer: UpstreamObserver;
  private options: Dispatcher.DispatchOptions | null = null;
  private readonly request: UpstreamRequest;
  private state: ExchangeState = 'starting';
  private source: ConnectionSource | null = null;
  private connection: Connection | null = null;
  private controller: Dispatcher.DispatchController | null = null;
  private answerHeaders: IncomingHeaders = noHeaders;
  private encoding: Encoding | null = null;
  private decompressor: Decompressor | null = null;
  /** Bytes still to come of a body with a declared length. */
  private leftBytes = endless;
  private end: 'seen' | 'unseen' = 'seen';
  private held = false;
  /** The answer came whole while it was held. */
  private endHeld = false;
  /** The decompressor has enough for now. */
  private inputFull = false;
  private sentAtMs = 0;
  private headSeen = false;
  /** That its connection had begun when this was dispatched there. */
  private answersBefore = 0;
  /** When the outer guard last saw that something had moved since it looked before. */
  private sinceMs = 0;
  private moved = false;

  constructor(host: ExchangeHost, request: UpstreamRequest, observer: UpstreamObserver) {
    this.host = host;
    this.observer = observer;
    this.request = request;
  }

  /** Undici begins it in a later turn than others. */
  get isUpload(): boolean {
    const { body } = this.request;
    return typeof body !== 'string' && !Buffer.isBuffer(body) && isUploadBody(body);
  }

  get isDone(): boolean {
    return this.state === 'done';
  }

  /** `proof`: the headers that its authorizer gave. */
  start(source: ConnectionSource, proof: readonly string[]): void {
    this.source = source;
    this.options = dispatchOptions(this.request, source, proof);
    this.sentAtMs = this.host.monotonicMs();
    this.dispatchOn(source.take(this, this.sentAtMs, this.request.connectTimeoutMs));
  }

  /** It ends before it has begun. */
  refuse(why: TransportError): void {
    this.breakOff(why);
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

  /** The outer guard: fails an exchange that has been silent for too long. */
  sweep(nowMs: number): void {
    if (this.state !== 'sent' && this.state !== 'answering') return;
    const isHeldBack = this.headSeen && (this.held || this.inputFull);
    if (this.moved || isHeldBack) this.sinceMs = nowMs;
    this.moved = false;
    const silentMs = nowMs - this.sinceMs;
    if (this.headSeen && silentMs >= this.request.bodyTimeoutMs) this.breakOff(bodyTimeout);
    else if (!this.headSeen && silentMs >= this.request.headersTimeoutMs) this.breakOff(headersTimeout);
  }

  // From undici.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.state = 'sent';
    // On one that stood, it begins a turn of the loop after it was taken.
    if (!this.connection!.reused) this.sentAtMs = this.host.monotonicMs();
    this.sinceMs = this.sentAtMs;
    this.connection!.written();
    if (this.held) controller.pause();
  }

  /** For an upload, called for each piece. */
  onBodySent(): void {
    this.moved = true;
  }

  onResponseStarted(): void {
    if (this.state === 'sent') this.state = 'answering';
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (this.state === 'done' || status < 200) return;
    this.headSeen = true;
    this.moved = true;
    this.connection!.responded();
    this.answerHeaders = headers;
    const coding = this.get('transfer-encoding');
    if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
      this.breakOff({ kind: 'protocol', message: 'the answer has a Transfer-Encoding that is not `chunked`' });
      return;
    }
    const encoded = this.get('content-encoding');
    const encoding = encoded === undefined ? null : encodingOf(encoded);
    if (encoding === undefined) {
      this.breakOff({ kind: 'decode', message: 'the answer has a Content-Encoding that was not asked for' });
      return;
    }
    this.encoding = encoding;
    const length = this.get('content-length');
    if (status === 204 || status === 304) this.leftBytes = 0;
    else if (length !== undefined) this.leftBytes = Number(length);
    if (this.leftBytes === 0) this.end = 'unseen';
    this.observer.headers(status, this);
    if (this.leftBytes === 0) this.takeEnd(controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.state === 'done') return;
    this.moved = true;
    this.leftBytes -= chunk.length;
    if (this.encoding === null) this.observer.data(chunk);
    else {
      this.decompressor ??= this.openDecompressor(this.encoding, chunk[0]);
      if (this.decompressor.write(chunk) === 'full') {
        this.inputFull = true;
        controller.pause();
      }
    }
    if (this.leftBytes === 0) this.takeEnd(controller);
  }

  onResponseEnd(): void {
    this.connection!.answered(this.end);
    this.connection = null;
    this.controller = null;
    if (this.decompressor !== null) this.decompressor.end();
    else if (this.held) this.endHeld = true;
    else this.ended();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    if (this.state !== 'done' && this.diedUnanswered(error)) {
      if (this.state === 'sent') this.host.retriedOnFreshSocket();
      this.controller = null;
      this.connection!.leave(null, true);
      this.dispatchOn(this.source!.open(this.request.connectTimeoutMs));
      return;
    }
    // Undici reports a refused request before `send` has returned: let it return first.
    if (this.state === 'starting') queueMicrotask(() => this.breakOff(transportErrorOf(error)));
    else this.breakOff(transportErrorOf(error));
  }

  /** A header of the answer. */
  get(name: string): string | undefined {
    const value = this.answerHeaders[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  names(): Iterable<string> {
    return Object.keys(this.answerHeaders);
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
    this.answersBefore = connection.answers;
    this.state = 'starting';
    const hasPlace = connection.dispatch(this.options!, this);
    if (!hasPlace) this.dispatchOn(this.source!.open(this.request.connectTimeoutMs));
    else if (this.state === 'starting') this.state = 'waiting';
  }

  private openDecompressor(encoding: Encoding, first: number | undefined): Decompressor {
    const decompressor = createDecompressor(encoding, this.host.decompressedBytesMax, this, first);
    if (this.held) decompressor.pause();
    return decompressor;
  }

  /** Undici takes an answer for cut whose connection is closed while it is paused behind the last byte. */
  private takeEnd(controller: Dispatcher.DispatchController): void {
    controller.resume();
  }

  /** Later: undici's parser cannot be resumed from within what any other connection's parser tells. */
  private readOn(): void {
    queueMicrotask(() => {
      if (this.held || this.inputFull) return;
      this.moved = true;
      if (this.endHeld) this.ended();
      else this.controller?.resume();
    });
  }

  /**
   * Its kept-alive socket was lost before a byte of the answer: nothing was written yet, or the peer closed at the same
   * moment.
   */
  private diedUnanswered(error: Error): boolean {
    if (!this.connection?.reused) return false;
    if (this.state === 'waiting') return !wasDestroyed(error);
    const repeats = this.request.repeats ?? this.host.repeats;
    if (this.state !== 'sent' || repeats === 'unsent' || !lostConnection(error)) return false;
    return this.host.monotonicMs() - this.sentAtMs <= staleSocketMs;
  }

  private breakOff(error: TransportError): void {
    if (this.state === 'done') return;
    this.finish();
    this.letGo();
    this.observer.failed(error);
  }

  private letGo(): void {
    this.decompressor?.destroy();
    const { connection, controller } = this;
    this.connection = null;
    this.controller = null;
    connection?.leave(controller, connection.answers === this.answersBefore);
  }

  private finish(): void {
    this.state = 'done';
    this.source?.ends(this);
    this.host.finished();
  }
}

const uncompressed = ['accept-encoding', 'identity'] as const;

function dispatchOptions(
  request: UpstreamRequest,
  { pathStart, headers: routeHeaders }: Pick<ConnectionSource, 'pathStart' | 'headers'>,
  proof: readonly string[],
): Dispatcher.DispatchOptions {
  const { method, body } = request;
  const isUpload = typeof body !== 'string' && !Buffer.isBuffer(body) && isUploadBody(body);
  // Compressing tokens one by one costs both sides more than it saves. A compressed answer is read nevertheless.
  const headers = request.headers.concat(proof, uncompressed);
  if (isUpload) headers.push('content-length', String(body.bytes));
  if (routeHeaders.length > 0) headers.push(...routeHeaders);
  return {
    path: pathStart + request.path,
    method,
    headers,
    body: isUpload ? reading(body) : body,
    // Undici's own timeouts are timers of each request, and hints (1xx) begin them anew.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

/** A request that is sent again begins the body anew. Undici takes any iterable; its types do not say so. */
function reading(upload: UpstreamUpload): Buffer {
  return { [Symbol.asyncIterator]: () => upload.open()[Symbol.asyncIterator]() } as unknown as Buffer;
}
