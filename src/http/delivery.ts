import type { ServerResponse } from 'node:http';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../inference/spine/sink.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Failure } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { keepAliveAfterMs, readerBufferBytesMax, readerStallTimeoutMs } from '../kernel/limits.ts';
import { validateHeaderName, validateHeaderValue } from '../kernel/web/node-http.ts';
import { type Exchange, errorContextOf, type Route } from './exchange.ts';
import { knownHeaders } from './known-headers.ts';
import { hasLargeUnreadBody, readOnAfterAnswer } from './read-on.ts';
import { refusalOf, retryHeaders } from './refused-request.ts';
import { openWire } from './stream-wire.ts';

/** How long the steps of a request that is cut may take to end it. */
const cutEndsMs = 100;
/** OpenAI's SDK for Go before 3.43 takes an empty line behind a comment for an event; much else wants one there. */
const keepAliveComment = ({ request }: Pick<Exchange, 'request'>): Bytes =>
  request.headers['x-stainless-lang'] === 'go' ? ': keep-alive\n' : ': keep-alive\n\n';
const jsonHeaders = ['content-type', 'application/json'];
const streamHeaders = [
  'cache-control',
  'no-cache, no-transform',
  // nginx would otherwise hold a stream back until its buffer is full.
  'x-accel-buffering',
  'no',
];
const eventHeaders = ['content-type', 'text/event-stream; charset=utf-8', ...streamHeaders];

/**
 * The client behind a node response. Whole answers leave in one send. Streams have keep-alive comments, backpressure
 * and a bound on the bytes that wait for a reader that has stopped reading. Errors have the dialect of the route.
 */
export class ResponseDelivery implements Delivery {
  disconnected = false;
  cutFor: Failure | null = null;
  committed = false;
  private readonly exchange: Omit<Exchange, 'client'>;
  private readonly response: ServerResponse;
  private readonly clock: Clock;
  private readonly stallTimeoutMs: number;
  private disconnectListener: (() => void) | null = null;
  private drainListener: (() => void) | null = null;
  private keepAlive: NodeJS.Timeout | null = null;
  private stall: NodeJS.Timeout | null = null;
  private earlyHeaders: HeaderList = [];
  private behind = false;
  private ended = false;
  private form: AnswerForm = 'events';
  /** Form that events leave in, other than `text/event-stream`; null: as they are. */
  private wire: ((chunk: Bytes) => Bytes) | null = null;
  /** Text behind the last event; absent: none. */
  private closing: (() => string) | undefined;
  /** Null: comments. */
  private silence: (() => Bytes) | null = null;
  /** Headers of a whole answer, until it ends. */
  private headers: HeaderList = [];
  private status = 200;
  private whole: Bytes | null = null;
  /** Bytes of a stream that were written in this turn, as characters of latin1: one text leaves in one write. */
  private unsent = '';
  /** Its bytes go in chunks, whose sizes are written here. */
  private inChunks = false;
  private brokenOff = false;

  constructor(exchange: Omit<Exchange, 'client'>, clock: Clock, stallTimeoutMs = readerStallTimeoutMs) {
    const { response } = exchange;
    this.exchange = exchange;
    this.response = response;
    this.clock = clock;
    this.stallTimeoutMs = stallTimeoutMs;
    if (response.destroyed) this.disconnected = true;
    response.on('close', () => {
      this.stopTimers();
      // This server has ended the connection, not the caller.
      if (response.writableFinished || this.brokenOff || this.cutFor !== null) return;
      this.disconnected = true;
      this.disconnectListener?.();
    });
  }

  onDisconnect(listener: () => void): void {
    this.disconnectListener = listener;
  }

  onDrain(listener: () => void): void {
    this.drainListener = listener;
  }

  expect(earlyHeaders: HeaderList): void {
    if (this.disconnected) return;
    this.earlyHeaders = earlyHeaders;
    this.keepAlive = setTimeout(() => this.breakSilence(), keepAliveAfterMs);
  }

  start(form: AnswerForm, headers: HeaderList, status = 200): void {
    if (this.disconnected || this.committed) return;
    this.form = form;
    if (form === 'whole') {
      this.headers = headers;
      this.status = status;
      return;
    }
    this.committed = true;
    this.response.on('drain', () => {
      if (!this.behind) return;
      this.behind = false;
      this.unwatchReader();
      this.drainListener?.();
    });
    const wire = this.exchange.wire ?? this.exchange.route?.dialect.wire;
    if (wire !== undefined && form !== 'bytes') {
      this.wire = openWire(wire);
      this.silence = wire.keepAlive ?? null;
      this.closing = wire.end;
    }
    const ofEvents = wire === undefined ? eventHeaders : ['content-type', wire.type, ...streamHeaders];
    const lengthAt = form === 'bytes' ? headers.indexOf('content-length') : -1;
    if (lengthAt === -1) writeHead(this.exchange, status, form === 'bytes' ? streamHeaders : ofEvents, headers, null);
    else writeHead(this.exchange, status, streamHeaders, headers.toSpliced(lengthAt, 2), Number(headers[lengthAt + 1]));
    // Node would send each chunk as a list of four pieces, for twice as much.
    this.inChunks = this.response.chunkedEncoding;
    this.response.chunkedEncoding = false;
  }

  /**
   * Ends the request as if its caller had left, who reads why. The steps of the request write that, because they know
   * how far a stream has come. A stream whose steps do not end it in time is ended here.
   */
  cut(failure: Failure): void {
    if (this.disconnected || this.ended) return;
    const isStream = this.keepAlive !== null || (this.committed && this.form === 'events');
    this.cutFor = failure;
    this.disconnected = true;
    this.disconnectListener?.();
    if (isStream) setTimeout(() => this.end({ failure, headers: [] }), cutEndsMs).unref();
  }

  chunk(given: Bytes): Pace {
    return this.disconnected ? 'ready' : this.put(given);
  }

  private put(given: Bytes): Pace {
    if (this.form === 'whole') {
      this.whole = this.whole === null ? given : Buffer.concat([asBuffer(this.whole), asBuffer(given)]);
      return 'ready';
    }
    this.keepAlive?.refresh();
    const chunk = this.wire === null ? given : this.wire(given);
    // A chunk without bytes would end the body.
    if (chunk.length === 0) return 'ready';
    const { response, unsent, inChunks } = this;
    // A text of ASCII has as many bytes as characters.
    const isOther = typeof chunk === 'string' && Buffer.byteLength(chunk) !== chunk.length;
    const bytes = isOther ? Buffer.from(chunk) : chunk;
    const before = inChunks ? `${unsent}${bytes.length.toString(16)}\r\n` : unsent;
    const after = inChunks ? '\r\n' : '';
    if (unsent === '') process.nextTick(ResponseDelivery.flush, this);
    if (bytes.length <= joinedBytesMax) this.unsent = before + bytes.toString('latin1') + after;
    else {
      if (before !== '') response.write(before, 'latin1');
      response.write(bytes, 'latin1');
      this.unsent = after;
    }
    // Node asks for a pause at its own high-water mark (64 KB); a reader may be behind up to our bound.
    if (response.writableLength + this.unsent.length <= readerBufferBytesMax / 2) return 'ready';
    if (!this.behind) {
      this.behind = true;
      this.watchReader();
    }
    return 'behind';
  }

  /** Sends what was written in this turn of the loop. */
  private static flush(delivery: ResponseDelivery): void {
    const { response, unsent } = delivery;
    if (unsent === '') return;
    delivery.unsent = '';
    // Without this node would write in another turn of the loop.
    response.socket?.cork();
    response.write(unsent, 'latin1');
    response.socket?.uncork();
  }

  end(given: Failed | null): void {
    const { exchange, response } = this;
    if ((this.disconnected && this.cutFor === null) || this.ended) return;
    // Nothing that came after the cut was sent, so it is not the whole.
    const failed = given === null && this.cutFor !== null ? { failure: this.cutFor, headers: [] } : given;
    this.ended = true;
    this.stopTimers();
    if (failed !== null) {
      const { failure, headers, mark }: Failed = failed;
      const { dialect } = exchange.route!;
      const nowMs = this.clock.wallMs();
      if (!this.committed) return writeFailure(exchange, failure, dialect, nowMs, headers);
      // A broken answer never looks like a clean end. A stream of bytes has no place for an error.
      if (this.form === 'bytes') return this.breakOff();
      this.put(dialect.errorFrame(failure, errorContextOf(exchange, nowMs), mark));
    }
    if (this.closing !== undefined) {
      this.wire = null;
      this.put(this.closing());
    }
    if (this.form === 'whole') {
      this.committed = true;
      writeAnswer(exchange, this.status, this.headers, this.whole ?? '');
    } else {
      response.end(this.inChunks ? `${this.unsent}${lastChunk}` : this.unsent, 'latin1');
      this.unsent = '';
    }
    // The last bytes may still wait for a reader that never takes them.
    if (!response.writableFinished && response.writableLength > 0) this.watchReader();
  }

  /** Ends by a reset: to a client that reads until the connection ends, a plain end looks like the answer's end. */
  private breakOff(): void {
    const { socket } = this.response;
    this.brokenOff = true;
    if (socket === null) this.response.destroy();
    else socket.resetAndDestroy();
  }

  private breakSilence(): void {
    if (this.disconnected || this.ended) return;
    if (!this.committed) this.start('events', this.earlyHeaders);
    this.keepAlive = null;
    const { wire } = this;
    this.wire = null;
    // Frames leave whole, so it is never within one.
    if (!this.behind) this.chunk(this.silence?.() ?? keepAliveComment(this.exchange));
    this.wire = wire;
    this.keepAlive = setTimeout(() => this.breakSilence(), keepAliveAfterMs);
  }

  /** Drops a reader who takes nothing for so long; `close` follows and tells the pipeline. */
  private watchReader(): void {
    this.stall ??= setTimeout(() => this.response.destroy(), this.stallTimeoutMs);
  }

  private unwatchReader(): void {
    if (this.stall !== null) clearTimeout(this.stall);
    this.stall = null;
  }

  private stopTimers(): void {
    if (this.keepAlive !== null) clearTimeout(this.keepAlive);
    this.keepAlive = null;
    if (this.stall !== null) this.unwatchReader();
  }
}

function asBuffer(bytes: Bytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

/** An exchange as far as its answer's head shows it. */
type Answered = Pick<Exchange, 'requestId' | 'clientRequestId' | 'response'>;

/** Node copies a body this short through its stack with the head. Longer ones are better sent as they are. */
const joinedBytesMax = 8_192;
/** The end of a body in chunks. */
const lastChunk = '0\r\n\r\n';

/** A whole answer in one send; JSON, unless `headers` name another `content-type`. */
export function writeAnswer(exchange: Answered, status: number, headers: HeaderList, body: Bytes): void {
  const { response } = exchange;
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  writeHead(exchange, status, headers.includes('content-type') ? [] : jsonHeaders, headers, length);
  // Of as many bytes as characters, it is ASCII, which is copied as it is.
  if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8');
  // Every byte is a character of latin1, and comes out as that byte: node sends one string with the head.
  else if (length <= joinedBytesMax) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
}

/** Answers with a failure in the dialect of a route; a no-op when headers are out already. */
export function writeFailure(
  exchange: Omit<Exchange, 'client'>,
  failure: Failure,
  dialect: Route['dialect'],
  nowMs: number,
  extraHeaders: readonly string[] = [],
): void {
  const { response } = exchange;
  if (response.headersSent) return;
  const facts = factsOf(failure, nowMs);
  const { trace } = exchange;
  if (exchange.admitted?.booked !== true) {
    if (trace !== null) trace.refused = failure.kind;
    exchange.onRefused(refusalOf(exchange, failure, facts, nowMs));
  }
  // A text leaves in one write with its head.
  const context = errorContextOf(exchange, nowMs);
  const body = JSON.stringify(dialect.errorBody(failure, context));
  const headers = [
    ...identityHeaders(exchange),
    ...(trace === null ? [] : ['x-culvert-trace-id', trace.id]),
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    ...retryHeaders(failure, facts, nowMs),
    ...(dialect.errorHeaders?.(failure, context) ?? []),
    ...(facts.quota?.headers ?? extraHeaders),
  ];
  if (facts.status === 401) headers.push('www-authenticate', exchange.route?.challenge?.(exchange) ?? 'Bearer');
  if (failure.kind === 'method-not-allowed') headers.push('allow', failure.allowed.join(', '));
  if (failure.kind === 'upstreams-limited') headers.push('x-culvert-limited-by', 'upstream');
  if (failure.kind === 'upgrade-required') headers.push('upgrade', failure.to ?? 'HTTP/1.1');
  // A caller that has not sent all of a body by now would hold the connection for as long again.
  const isTooSlow = failure.kind === 'request-timeout';
  const isLarge = !isTooSlow && hasLargeUnreadBody(exchange);
  if (isTooSlow || isLarge) headers.push('connection', 'close');
  if (isLarge) readOnAfterAnswer(exchange.request);
  response.writeHead(dialect.errorStatus?.(failure) ?? facts.status, headers);
  response.end(exchange.request.method === 'HEAD' ? undefined : body);
}

/** The ids that every answer carries (design §6). */
export function identityHeaders({ requestId, clientRequestId }: Omit<Answered, 'response'>): string[] {
  const shown = clientRequestId ?? requestId;
  return ['x-culvert-request-id', requestId, 'x-request-id', shown, 'request-id', shown];
}

/**
 * The same as node's `writeHead`, for 4 µs less (docs/decisions/0004): that validates some twenty headers one by one.
 * `length` is null for a stream.
 */
function writeHead(
  exchange: Answered,
  status: number,
  shown: HeaderList,
  headers: HeaderList,
  length: number | null,
): void {
  const { response } = exchange;
  const lengthHeaders = length === null ? [] : ['content-length', String(length)];
  const writer: ServerResponse & HeadWriter = response;
  if (status !== 200 || writer._storeHeader === undefined || response.getHeaderNames().length > 0) {
    response.writeHead(status, [...lengthHeaders, ...identityHeaders(exchange), ...shown, ...headers]);
    return;
  }
  response.statusCode = 200;
  const { requestId, clientRequestId } = exchange;
  const shownId = clientRequestId ?? requestId;
  let head = `HTTP/1.1 200 OK\r\nx-culvert-request-id: ${requestId}\r\nx-request-id: ${shownId}\r\nrequest-id: ${shownId}`;
  for (const list of [shown, headers]) {
    for (let at = 0; at < list.length; at += 2) {
      const name = list[at]!;
      const value = list[at + 1]!;
      const known = knownHeaders.get(name);
      if (known === undefined || known.fit?.has(value) === false) lookOver(name, value, known?.fit);
      head += (known?.begin ?? `\r\n${name}: `) + value;
    }
  }
  writer._storeHeader(`${head}\r\n`, lengthHeaders);
}

/** Checks a header as node does, and throws as node would. A value that passed is remembered in `fit`. */
function lookOver(name: string, value: string, fit: Set<string> | null | undefined): void {
  validateHeaderName(name);
  validateHeaderValue(name, value);
  if (fit === null || fit === undefined) return;
  if (fit.size >= fitValuesMax) fit.clear();
  fit.add(value);
}

/** The private part of node's response: it writes a head from its first line and the headers that it must know of. */
interface HeadWriter {
  _storeHeader?(firstLine: string, headers: readonly string[]): void;
}

/** Most values of one header that are remembered as checked; at one more all are checked again. */
const fitValuesMax = 1_000;
