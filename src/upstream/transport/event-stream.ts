import { crc32 } from 'node:zlib';
import { type JsonObject, parsedData } from '../../kernel/json.ts';
import { upstreamEventBytesMax } from '../../kernel/limits.ts';
import type { SplitEvent, SseEvent, SseReaderOptions, SseSplitter } from './split-event.ts';

/** The Content-Type of AWS's binary event streams. */
export const eventStreamType = 'application/vnd.amazon.eventstream';

/**
 * Reads AWS's event stream, cut anywhere, as server-sent events: each message becomes one, with its type and its JSON.
 * What InvokeModel wraps (`chunk`, base64) is unwrapped: its type is that of the event inside. SageMaker's
 * `PayloadPart` is a piece, cut anywhere, of server-sent events themselves. An exception becomes an `error` event,
 * `{type: "error", error: {type, message, status}}`, and so does a message whose checksum is wrong. `createInside`:
 * makes the reader of such pieces.
 */
export function createEventStreamSplitter(
  { eventBytesMax = upstreamEventBytesMax }: SseReaderOptions,
  createInside: (options: SseReaderOptions) => SseSplitter,
): SseSplitter {
  return new EventStreamSplitter(eventBytesMax, createInside);
}

const noBytes = Buffer.alloc(0);
const noEvents: readonly SplitEvent[] = Object.freeze([]);
/** Two lengths, and the checksums of these and of all. */
const frameBytesMin = 16;

class EventStreamSplitter implements SseSplitter {
  tooLarge = false;
  readonly #eventBytesMax: number;
  /** The unfinished frame in its first `pendingBytes` bytes, with room to grow: short chunks are not joined anew. */
  #pending: Buffer = noBytes;
  pendingBytes = 0;
  #framed: readonly SplitEvent[] = noEvents;
  #bytes: Buffer | null = null;
  #broken = false;
  /** Reader of events that came in parts. */
  #inside: SseSplitter | null = null;
  readonly #createInside: (options: SseReaderOptions) => SseSplitter;

  constructor(eventBytesMax: number, createInside: (options: SseReaderOptions) => SseSplitter) {
    this.#eventBytesMax = eventBytesMax;
    this.#createInside = createInside;
  }

  /** Written when the events are forwarded: a conversion needs none. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#framed.map(frameOf).join(''));
    return this.#bytes;
  }

  push(chunk: Buffer): readonly SplitEvent[] {
    if (this.tooLarge || this.#broken) return noEvents;
    const bytes = this.pendingBytes === 0 ? chunk : this.#joined(chunk);
    const events: SseEvent[] = [];
    let at = 0;
    while (bytes.length - at >= 4 && !this.#broken) {
      const length = bytes.readUInt32BE(at);
      if (length > this.#eventBytesMax) {
        this.tooLarge = true;
        break;
      }
      if (length < frameBytesMin) this.#fails(events);
      else if (bytes.length - at < length) break;
      else this.#decode(bytes.subarray(at, at + length), events);
      at += length;
    }
    const rest = this.tooLarge || this.#broken ? noBytes : bytes.subarray(at);
    // What was read may be held by others: its room is not written again.
    if (at > 0 || this.pendingBytes === 0 || rest.length === 0) this.#pending = rest;
    this.pendingBytes = rest.length;
    return this.#placed(events);
  }

  #joined(chunk: Buffer): Buffer {
    const bytes = this.pendingBytes + chunk.length;
    if (bytes > this.#pending.length) {
      const grown = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#pending.length));
      this.#pending.copy(grown, 0, 0, this.pendingBytes);
      this.#pending = grown;
    }
    chunk.copy(this.#pending, this.pendingBytes);
    return this.#pending.subarray(0, bytes);
  }

  /** A message that was cut is none. */
  end(): readonly SplitEvent[] {
    return this.#inside === null ? noEvents : this.#placed(this.#inside.end().map(onOneLine));
  }

  #decode(frame: Buffer, events: SseEvent[]): void {
    try {
      const message = messageIn(frame);
      if (message.headers[':event-type'] === 'PayloadPart') return this.#addPart(message.body, events);
      const event = eventOf(message);
      if (event !== null) events.push(event);
    } catch {
      this.#fails(events);
    }
  }

  #addPart(body: Buffer, events: SseEvent[]): void {
    this.#inside ??= this.#createInside({ eventBytesMax: this.#eventBytesMax });
    events.push(...this.#inside.push(body).map(onOneLine));
    this.tooLarge ||= this.#inside.tooLarge;
  }

  #fails(events: SseEvent[]): void {
    this.#broken = true;
    events.push(errorEvent('malformedMessage', 'sent a message that cannot be read', 502));
  }

  #placed(events: readonly SseEvent[]): readonly SplitEvent[] {
    this.#bytes = null;
    let end = 0;
    this.#framed = events.map(({ event, data }) => {
      const start = end;
      end += (event === '' ? 0 : eventWordsBytes + event.length) + dataWordsBytes + Buffer.byteLength(data);
      return { event, data, start, end };
    });
    return this.#framed;
  }
}

function frameOf({ event, data }: SseEvent): string {
  return event === '' ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

const eventWordsBytes = 'event: \n'.length;
const dataWordsBytes = 'data: \n\n'.length;

/** A frame of server-sent events ends at the first empty line. */
function onOneLine({ event, data }: SseEvent): SseEvent {
  return { event: plainName(event), data: data.replaceAll(/[\r\n]+/g, ' ') };
}

interface Message {
  /** Headers whose value is text. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** Two lengths and their checksum. */
const preludeBytes = 12;
const textType = 7;
/** Size of a value, by its type; types 6 and 7 carry their own length. */
const valueBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

/**
 * A frame of AWS's event stream encoding, checked by both of its checksums. Not by AWS's codec: that one computes them in
 * JavaScript, and an event costs three times a server-sent one. Throws for what is no such frame.
 */
function messageIn(frame: Buffer): Message {
  const checkedBytes = frame.length - 4;
  const bodyAt = preludeBytes + frame.readUInt32BE(4);
  const isSound =
    bodyAt <= checkedBytes &&
    crc32(frame.subarray(0, 8)) === frame.readUInt32BE(8) &&
    crc32(frame.subarray(0, checkedBytes)) === frame.readUInt32BE(checkedBytes);
  if (!isSound) throw new Error('a frame is damaged');
  return { headers: headersIn(frame.subarray(preludeBytes, bodyAt)), body: frame.subarray(bodyAt, checkedBytes) };
}

/** Deltas have the same headers, one after the other: the last ones are kept. */
let lastHeaders: { bytes: Buffer; read: Message['headers'] } = { bytes: noBytes, read: {} };

function headersIn(bytes: Buffer): Message['headers'] {
  if (!bytes.equals(lastHeaders.bytes)) lastHeaders = { bytes: Buffer.from(bytes), read: readHeaders(bytes) };
  return lastHeaders.read;
}

function readHeaders(bytes: Buffer): Message['headers'] {
  const headers: Record<string, string> = {};
  for (let at = 0; at < bytes.length; ) {
    const typeAt = at + 1 + bytes[at]!;
    const type = bytes[typeAt]!;
    const fixed = valueBytes[type];
    const valueAt = typeAt + (fixed === undefined ? 3 : 1);
    const end = valueAt + (fixed ?? bytes.readUInt16BE(typeAt + 1));
    if (type === textType) headers[bytes.toString('latin1', at + 1, typeAt)] = bytes.toString('utf8', valueAt, end);
    at = end;
  }
  return headers;
}

/** Null for a message that tells nothing, such as an unknown kind of frame. */
function eventOf({ headers, body }: Message): SseEvent | null {
  const header = (name: string) => headers[name] ?? '';
  switch (header(':message-type')) {
    case 'event': {
      const event = header(':event-type');
      return event === 'chunk' ? unwrapped(body) : { event: plainName(event), data: body.toString('utf8') };
    }
    case 'exception': {
      const details = parsedData(body.toString('utf8'));
      const name = header(':exception-type');
      return errorEvent(name, messageOf(details) || name, statusOf(name, details));
    }
    case 'error':
      return errorEvent(header(':error-code'), header(':error-message') || header(':error-code'), 500);
    default:
      return null;
  }
}

const typeFirst = /^\{"type":"([a-z_]{1,40})"/;

function unwrapped(body: Buffer): SseEvent | null {
  const bytes = parsedData(body.toString('utf8'))?.bytes;
  if (typeof bytes !== 'string') return null;
  const data = Buffer.from(bytes, 'base64').toString('utf8');
  const type = typeFirst.exec(data)?.[1] ?? parsedData(data)?.type;
  return onOneLine({ event: typeof type === 'string' ? type : '', data });
}

/** The name without anything that could begin a new line, and with one byte a character. */
function plainName(name: string): string {
  return /^[\w.-]{1,100}$/.test(name) ? name : '';
}

function errorEvent(type: string, message: string, status: number): SseEvent {
  return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message, status } }) };
}

const statusByException: ReadonlyMap<string, number> = new Map(
  Object.entries({
    throttlingException: 429,
    validationException: 400,
    internalServerException: 500,
    serviceUnavailableException: 503,
    modelTimeoutException: 408,
    modelStreamErrorException: 424,
    accessDeniedException: 403,
    // SageMaker's.
    ModelStreamError: 424,
  }),
);

function statusOf(name: string, details: JsonObject | null): number {
  const original = details?.originalStatusCode;
  if (name === 'modelStreamErrorException' && typeof original === 'number') return original === 429 ? 429 : 424;
  return statusByException.get(name) ?? 500;
}

function messageOf(details: JsonObject | null): string {
  const words = details?.message ?? details?.Message ?? details?.originalMessage;
  return typeof words === 'string' ? words : '';
}
