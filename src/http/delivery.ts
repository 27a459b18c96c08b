import type { ServerResponse } from 'node:http';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../inference/spine/sink.ts';
import type { Clock } from '../kernel/clock.ts';
import { keepAliveAfterMs, readerBufferBytesMax, readerStallTimeoutMs } from '../kernel/limits.ts';
import type { Exchange } from './exchange.ts';
import { writeAnswer } from './write-answer.ts';
import { identityHeaders, writeFailure } from './write-failure.ts';

const keepAliveComment = ': keep-alive\n\n';
const streamHeaders = [
  'cache-control',
  'no-cache, no-transform',
  // nginx would otherwise hold a stream back until its buffer is full.
  'x-accel-buffering',
  'no',
];
const eventHeaders = ['content-type', 'text/event-stream; charset=utf-8', ...streamHeaders];

/**
 * The client behind a node response: whole answers in one send, streams with keep-alive comments, backpressure and a
 * bound on what waits for a reader who has stopped reading; errors in the dialect of the route.
 */
export class ResponseDelivery implements Delivery {
  gone = false;
  committed = false;
  readonly #exchange: Omit<Exchange, 'client'>;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #stallTimeoutMs: number;
  #goneListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;
  #keepAlive: NodeJS.Timeout | null = null;
  #stall: NodeJS.Timeout | null = null;
  #earlyHeaders: HeaderList = [];
  #behind = false;
  #ended = false;
  #form: AnswerForm = 'events';
  /** Of a whole answer, until it ends. */
  #headers: HeaderList = [];
  #status = 200;
  #whole: Bytes | null = null;
  #brokenOff = false;

  constructor(exchange: Omit<Exchange, 'client'>, clock: Clock, stallTimeoutMs = readerStallTimeoutMs) {
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#exchange = exchange;
    this.#response = exchange.response;
    this.#clock = clock;
    if (this.#response.destroyed) this.gone = true;
    this.#response.on('close', () => this.#closed());
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  expect(earlyHeaders: HeaderList): void {
    if (this.gone) return;
    this.#earlyHeaders = earlyHeaders;
    this.#keepAlive = setTimeout(() => this.#breakSilence(), keepAliveAfterMs);
  }

  start(form: AnswerForm, headers: HeaderList, status = 200): void {
    if (this.gone || this.committed) return;
    this.#form = form;
    if (form === 'whole') {
      this.#headers = headers;
      this.#status = status;
      return;
    }
    this.committed = true;
    this.#response.on('drain', () => this.#drained());
    const shown = form === 'bytes' ? streamHeaders : eventHeaders;
    this.#response.writeHead(status, [...identityHeaders(this.#exchange), ...shown, ...headers]);
  }

  chunk(chunk: Bytes): Pace {
    if (this.gone) return 'ready';
    if (this.#form === 'whole') {
      this.#whole = this.#whole === null ? chunk : Buffer.concat([asBuffer(this.#whole), asBuffer(chunk)]);
      return 'ready';
    }
    this.#keepAlive?.refresh();
    // Node asks for a pause at its own high-water mark (64 KB); a reader may be behind up to our bound.
    this.#response.write(chunk);
    if (this.#response.writableLength <= readerBufferBytesMax / 2) return 'ready';
    if (!this.#behind) {
      this.#behind = true;
      this.#watchReader();
    }
    return 'behind';
  }

  end(failed: Failed | null): void {
    if (this.gone || this.#ended) return;
    this.#ended = true;
    this.#stopTimers();
    if (failed === null) this.#finish();
    else if (this.committed) this.#break(failed);
    else writeFailure(this.#exchange, failed.failure, this.#dialect(), this.#clock.wallMs(), failed.headers);
  }

  #finish(): void {
    if (this.#form === 'whole') this.#answer();
    else this.#response.end();
    this.#watchLastBytes();
  }

  #answer(): void {
    this.committed = true;
    const type = this.#headers.includes('content-type') ? [] : ['content-type', 'application/json'];
    const shown = [...identityHeaders(this.#exchange), ...type, ...this.#headers];
    writeAnswer(this.#response, this.#status, shown, this.#whole ?? '');
  }

  /** Never by what looks like a clean end; a stream of bytes has no place for an error. */
  #break({ failure, mark }: Failed): void {
    if (this.#form === 'bytes') return this.#breakOff();
    const { requestId } = this.#exchange;
    this.#response.end(this.#dialect().errorFrame(failure, requestId, this.#clock.wallMs(), mark));
    this.#watchLastBytes();
  }

  /** By a reset: to who reads until the connection ends, a plain end would look like the answer's. */
  #breakOff(): void {
    const { socket } = this.#response;
    this.#brokenOff = true;
    if (socket === null) this.#response.destroy();
    else socket.resetAndDestroy();
  }

  #dialect() {
    return this.#exchange.route!.dialect;
  }

  #closed(): void {
    this.#stopTimers();
    // The caller did not go: we left.
    if (this.#response.writableFinished || this.#brokenOff) return;
    this.gone = true;
    this.#goneListener?.();
  }

  #drained(): void {
    if (!this.#behind) return;
    this.#behind = false;
    this.#unwatchReader();
    this.#drainListener?.();
  }

  #breakSilence(): void {
    if (this.gone || this.#ended) return;
    if (!this.committed) this.start('events', this.#earlyHeaders);
    if (!this.#behind) this.#response.write(keepAliveComment);
    this.#keepAlive = setTimeout(() => this.#breakSilence(), keepAliveAfterMs);
  }

  /** Drops a reader who takes nothing for so long; `close` follows and tells the pipeline. */
  #watchReader(): void {
    this.#stall = setTimeout(() => this.#response.destroy(), this.#stallTimeoutMs);
  }

  #unwatchReader(): void {
    if (this.#stall !== null) clearTimeout(this.#stall);
    this.#stall = null;
  }

  /** What was written last may still wait for a reader who never takes it. */
  #watchLastBytes(): void {
    if (!this.#response.writableFinished && this.#response.writableLength > 0) this.#watchReader();
  }

  #stopTimers(): void {
    if (this.#keepAlive !== null) clearTimeout(this.#keepAlive);
    this.#keepAlive = null;
    this.#unwatchReader();
  }
}

function asBuffer(bytes: Bytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}
