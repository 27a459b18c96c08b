import { write, writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { every } from '../kernel/every.ts';
import type { MeasuredRequest } from './metrics.ts';

export type Log = Logger;

export interface LogOptions {
  level: string;
  /** `pretty` for people at a terminal, `json` for machines. */
  form: 'pretty' | 'json';
}

const batchBytes = 65_536;
const waitingBytesMax = 8 * 1024 * 1024;

/** The log on standard output: one line a request at `info`, written by batches; never secrets, bodies of named keys alone. */
export async function createLog(options: LogOptions): Promise<{ log: Log; flush(): void; close(): void }> {
  const destination = new LineOutput({ fd: 1, batchBytes: options.form === 'json' ? batchBytes : 0, waitingBytesMax });
  // A sink that is gone (closed pipe, full disk) must not take requests down with it (F31, F60).
  const settings = { level: options.level, base: null, timestamp, formatters: { level: levelInWords } };
  const log =
    options.form === 'json'
      ? pino(settings, destination)
      : pino(settings, (await import('./log-for-people.ts')).logForPeople());
  // A line must not wait for its batch to fill on a quiet server.
  const stopFlushing = every(1_000, () => destination.flush());
  return {
    log,
    flush: () => destination.flushSync(),
    close() {
      stopFlushing();
      destination.flushSync();
    },
  };
}

/** The log of a gateway inside an application, in JSON. A function takes each line. */
export async function createLogTo(
  to: 'stdout' | 'off' | ((line: string) => void),
  level: string,
): Promise<{ log: Log; close(): void }> {
  if (to === 'stdout') return createLog({ level, form: 'json' });
  const close = () => undefined;
  if (to === 'off') return { log: pino({ level: 'silent' }), close };
  return { log: pino({ level, base: null, timestamp, formatters: { level: levelInWords } }, { write: to }), close };
}

/** `"level":"info"`: people read it, and every collector of logs knows the words. */
export function levelInWords(label: string): { level: string } {
  return { level: label };
}

let second = '';
let secondStartsMs = 0;

/** The time of a line, as pino wants it. */
export function timestamp(): string {
  return `,"time":"${isoNow()}"`;
}

/** `2026-01-02T03:04:05.678Z`; all but the milliseconds is kept for as long as the second lasts. */
export function isoNow(): string {
  const nowMs = Date.now();
  const ms = nowMs - secondStartsMs;
  if (ms < 0 || ms >= 1_000) {
    secondStartsMs = nowMs - (nowMs % 1_000);
    second = new Date(secondStartsMs).toISOString().slice(0, 20);
    return isoNow();
  }
  return `${second}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`;
}

/** Fields of one finished request in the log. */
export interface LoggedRequest extends Omit<MeasuredRequest, 'costUsd'> {
  requestId: string;
  /** The caller's own id of it. */
  clientRequestId: string | null;
  account: string;
  keyId: string;
  alias: string;
  /** `provider/model`, or null when none answered. */
  target: string | null;
  stream: boolean;
  /** End-user id of the request. */
  user: string | null;
}

/** Writes lines of another process as they are. */
export function writeLines(log: Log, lines: string): void {
  streamOf(log).write(lines);
}

function streamOf(log: Log): { write(line: string): void } {
  return Reflect.get(log, pino.symbols.streamSym);
}

/**
 * Writes one line at `info` for a finished request, as `log.info` would; whether the log shows `info` is the caller's to
 * ask. It uses a template, because writing an object
 * of these fields as JSON costs 1.2 µs and this 0.15: pino joins some forty strings that the destination must flatten.
 * The caller, the model and the outcome are mostly those of the line before, so they are written once.
 */
export function requestLog(log: Log): (request: LoggedRequest, attempts: number, traceId?: string | null) => void {
  const stream = streamOf(log);
  let last: LoggedRequest | null = null;
  let lastAttempts = 0;
  let who = '';
  return (request, attempts, traceId = null) => {
    const isAlike =
      last !== null &&
      last.keyId === request.keyId &&
      last.alias === request.alias &&
      last.target === request.target &&
      last.endpoint === request.endpoint &&
      last.account === request.account &&
      last.status === request.status &&
      last.class === request.class &&
      last.stream === request.stream &&
      lastAttempts === attempts;
    if (!isAlike) {
      last = request;
      lastAttempts = attempts;
      who = whoOf(request, attempts);
    }
    const { user, clientRequestId } = request;
    stream.write(
      `{"level":"info","time":"${isoNow()}","requestId":"${request.requestId}",${clientRequestId === null ? '' : `"clientRequestId":${JSON.stringify(clientRequestId)},`}${who},"ms":${request.ms},"firstTokenMs":${request.firstTokenMs},"inputTokens":${request.inputTokens},"outputTokens":${request.outputTokens},"usageSource":"${request.usageSource}"${user === null ? '' : `,"user":${JSON.stringify(user)}`}${traceId === null ? '' : `,"trace_id":"${traceId}"`},"msg":"request"}\n`,
    );
  };
}

function whoOf(request: LoggedRequest, attempts: number): string {
  const { account, keyId, endpoint, alias, target, status, class: outcome, stream } = request;
  const who = JSON.stringify({ account, keyId, endpoint, model: alias, target }).slice(1, -1);
  return `${who},"status":${status},"class":"${outcome}","attempts":${attempts},"stream":${stream}`;
}

interface LineOutputOptions {
  fd: number;
  /** Lines are gathered up to this: every write wakes a thread. */
  batchBytes: number;
  /** Beyond this a sink that takes nothing loses lines. */
  waitingBytesMax: number;
}

/** Room in a page behind a full batch. */
const lineBytesUsual = 4_096;
/** The bytes of one UTF-16 unit, at most. */
const utf8BytesMax = 3;

/** A pipe whose reader is behind. */
const behindRetryMs = 50;

/**
 * Destination of log lines: it gathers them, writes them off the loop and in order, and never makes anything else fail.
 * It is not pino's own, which measures the whole batch again for each line (3 µs a request).
 */
export class LineOutput {
  readonly #options: LineOutputOptions;
  /** Lines as bytes at once: as texts they would live for long enough to be collected old. */
  #page: Buffer;
  #used = 0;
  /** Full pages, in order. */
  #full: Buffer[] = [];
  #waiting = 0;
  #state: 'idle' | 'writing' = 'idle';

  constructor(options: LineOutputOptions) {
    this.#options = options;
    this.#page = Buffer.allocUnsafeSlow(options.batchBytes + lineBytesUsual);
  }

  write(line: string): void {
    if (this.#waiting + line.length > this.#options.waitingBytesMax) return;
    const bytesMax = line.length * utf8BytesMax;
    if (bytesMax > this.#page.length - this.#used) this.#turnPage(bytesMax);
    const bytes = this.#page.write(line, this.#used);
    this.#used += bytes;
    this.#waiting += bytes;
    if (this.#waiting >= this.#options.batchBytes) this.flush();
  }

  /** Begins to write what waits. */
  flush(): void {
    if (this.#state === 'writing' || this.#waiting === 0) return;
    this.#state = 'writing';
    this.#send(this.#take());
  }

  /** For the end of the process; what the sink does not take at once is lost. */
  flushSync(): void {
    if (this.#waiting === 0) return;
    try {
      writeSync(this.#options.fd, this.#take());
    } catch {
      // The sink is gone, or full.
    }
  }

  #turnPage(bytesMin: number): void {
    this.#full.push(this.#page.subarray(0, this.#used));
    this.#page = Buffer.allocUnsafeSlow(Math.max(bytesMin, this.#options.batchBytes + lineBytesUsual));
    this.#used = 0;
  }

  #take(): Buffer {
    this.#turnPage(0);
    const [page] = this.#full;
    const batch = page !== undefined && this.#full.length === 1 ? page : Buffer.concat(this.#full);
    this.#full = [];
    this.#waiting = 0;
    return batch;
  }

  #send(batch: Buffer): void {
    write(this.#options.fd, batch, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#send(batch), behindRetryMs).unref();
        return;
      }
      // Any other error means that this batch is lost: the next one may find the sink again.
      if (error === null && written < batch.length) return this.#send(batch.subarray(written));
      this.#state = 'idle';
      if (this.#waiting >= this.#options.batchBytes) this.flush();
    });
  }
}
