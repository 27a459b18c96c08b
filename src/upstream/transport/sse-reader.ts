import { isAscii } from 'node:buffer';
import { withOne } from '../../kernel/json.ts';
import { upstreamEventBytesMax } from '../../kernel/limits.ts';
import { createEventStreamSplitter, eventStreamType } from './event-stream.ts';
import type { SplitEvent, SseReader, SseReaderOptions, SseSplitter } from './split-event.ts';

export type { SplitEvent, SseEvent, SseReader, SseReaderOptions, SseSplitter } from './split-event.ts';

/** Whether an answer of this Content-Type is a stream of events. */
export function isEventStream(contentType: string): boolean {
  return contentType.startsWith('text/event-stream') || contentType.startsWith(eventStreamType);
}

/** Reads a stream by its Content-Type: server-sent events where that says nothing else. */
export function createSplitter(contentType: string, options: SseReaderOptions): SseSplitter {
  if (contentType.startsWith(eventStreamType)) return createEventStreamSplitter(options, createSseSplitter);
  return new ByteSplitter(options.eventBytesMax ?? upstreamEventBytesMax);
}

export function createSseSplitter({ eventBytesMax = upstreamEventBytesMax }: SseReaderOptions): SseSplitter {
  return new ByteSplitter(eventBytesMax);
}

/** The same, for those who need no offsets. */
export const createSseReader: (options: SseReaderOptions) => SseReader = createSseSplitter;

const LF = 0x0a;
const CR = 0x0d;
const colon = 0x3a;
const space = 0x20;
const bom = [0xef, 0xbb, 0xbf];
const noEvents: readonly SplitEvent[] = Object.freeze([]);
const noBytes = Buffer.alloc(0);
const pendingBytesMin = 1024;

class ByteSplitter implements SseSplitter {
  tooLarge = false;
  bytes: Buffer = noBytes;
  private readonly eventBytesMax: number;
  /** The unfinished block in its first `pendingBytes` bytes, with room to grow: short chunks are not joined anew. */
  private pending: Buffer = noBytes;
  pendingBytes = 0;
  /** Offset in `pending` of the unfinished line; the lines before it are in `event` and `data`. */
  private lineStart = 0;
  private event = '';
  private data: string | null = null;
  /** The last chunk ended in CR: an LF that comes next belongs to it. */
  private skipLf = false;
  private atStart = true;

  constructor(eventBytesMax: number) {
    this.eventBytesMax = eventBytesMax;
  }

  push(chunk: Buffer): readonly SplitEvent[] {
    if (this.tooLarge || chunk.length === 0) return noEvents;
    if (this.atStart && this.pendingBytes === 0 && chunk[0] !== bom[0]) this.atStart = false;
    if (this.atStart) {
      const first = this.pendingBytes === 0 ? chunk : Buffer.concat([this.takePending(), chunk]);
      const bomBytes = leadingBomBytes(first);
      if (bomBytes === first.length && bomBytes < 3) {
        this.hold(first, 0);
        return noEvents;
      }
      this.atStart = false;
      return this.split(first, bomBytes === 3 ? 3 : 0);
    }
    if (this.skipLf) {
      this.skipLf = false;
      if (chunk[0] === LF) return this.split(chunk, 1);
    }
    return this.split(chunk, 0);
  }

  /** Looks for line ends in `chunk` from `from` on only: the pending part has been searched before. */
  private split(chunk: Buffer, from: number): readonly SplitEvent[] {
    // Offsets into `bytes` are chunk offsets + base.
    let bytes = chunk;
    let base = 0;
    let blockStart = from;
    let lineStart = from;
    if (this.pendingBytes > 0) {
      base = this.pendingBytes;
      this.append(chunk);
      bytes = this.pending;
      blockStart = 0;
      lineStart = from > 0 ? base + from : this.lineStart;
    }
    // One text of the whole chunk: to make one of each line costs four times as much.
    const text = isAscii(chunk) ? chunk.toString('latin1') : null;
    let events: SplitEvent[] = [];
    let at = from;
    // -2: not searched yet; -1: none left in this chunk.
    let lf = -2;
    let cr = -2;
    while (at < chunk.length) {
      const byte = chunk[at];
      let lineEnd = at;
      if (byte !== LF && byte !== CR) {
        // Each kind is searched once per hit, so that a chunk of one kind alone is not searched for the other again.
        if (lf !== -1 && lf < at) lf = text === null ? chunk.indexOf(LF, at) : text.indexOf('\n', at);
        if (cr !== -1 && cr < at) cr = text === null ? chunk.indexOf(CR, at) : text.indexOf('\r', at);
        lineEnd = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
        if (lineEnd === -1) break;
      }
      if (base + lineEnd + 1 - blockStart > this.eventBytesMax) return this.overflow(bytes, events);
      at = lineEnd + 1;
      if (chunk[lineEnd] === CR) {
        if (at === chunk.length) this.skipLf = true;
        else if (chunk[at] === LF) at += 1;
      }
      if (base + lineEnd > lineStart) {
        this.readLine(bytes, lineStart, base + lineEnd, lineStart < base ? null : text, base);
      } else {
        if (this.data !== null) {
          events = withOne(events, { event: this.event, data: this.data, start: blockStart, end: base + at });
        }
        this.event = '';
        this.data = null;
        blockStart = base + at;
      }
      lineStart = base + at;
    }
    const restBytes = base + chunk.length - blockStart;
    if (restBytes > this.eventBytesMax) return this.overflow(bytes, events);
    // A buffer whose head was given away is never appended to: its reader may still hold it.
    if (bytes !== this.pending || blockStart > 0) {
      this.pending = noBytes;
      this.pendingBytes = 0;
      if (restBytes > 0) this.hold(bytes, blockStart, restBytes);
    }
    this.lineStart = lineStart - blockStart;
    if (events.length === 0) return noEvents;
    this.bytes = this.skipLf && restBytes === 0 ? withItsLf(bytes, events.at(-1)!) : bytes;
    return events;
  }

  end(): readonly SplitEvent[] {
    if (this.tooLarge || this.pendingBytes === 0) return noEvents;
    const length = this.pendingBytes;
    const bytes = Buffer.concat([this.takePending(), Buffer.from('\n\n')]);
    if (this.lineStart < length) this.readLine(bytes, this.lineStart, length);
    const { event, data } = this;
    this.event = '';
    this.data = null;
    if (data === null) return noEvents;
    this.bytes = bytes;
    return [{ event, data, start: 0, end: bytes.length }];
  }

  /**
   * Keeps what `data` and `event` say; comments and all other fields mean nothing here but `error`, which servers of
   * llama.cpp of 2025 break a stream off with. `text`: `bytes` behind `base` as characters; null: they are not ASCII, or
   * the line begins before it.
   */
  private readLine(bytes: Buffer, start: number, end: number, text: string | null = null, base = 0): void {
    const name = bytes[start] === dataName[0] ? dataName : bytes[start + 1] === errorName[1] ? errorName : eventName;
    const nameEnd = start + name.length;
    if (nameEnd > end || (nameEnd < end && bytes[nameEnd] !== colon)) return;
    for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return;
    let from = nameEnd < end ? nameEnd + 1 : end;
    if (from < end && bytes[from] === space) from += 1;
    const value = text === null ? bytes.toString('utf8', from, end) : text.slice(from - base, end - base);
    if (name === eventName) this.event = value;
    else if (name === errorName) this.data = `{"error":${value}}`;
    else this.data = this.data === null ? value : `${this.data}\n${value}`;
  }

  private append(chunk: Buffer): void {
    const total = this.pendingBytes + chunk.length;
    if (total > this.pending.length) {
      const grown = Buffer.allocUnsafe(total * 2);
      this.pending.copy(grown, 0, 0, this.pendingBytes);
      this.pending = grown;
    }
    chunk.copy(this.pending, this.pendingBytes);
    this.pendingBytes = total;
  }

  private hold(bytes: Buffer, start: number, length = bytes.length): void {
    this.pending = Buffer.allocUnsafe(Math.max(pendingBytesMin, length * 2));
    bytes.copy(this.pending, 0, start, start + length);
    this.pendingBytes = length;
  }

  private takePending(): Buffer {
    const taken = this.pending.subarray(0, this.pendingBytes);
    this.pending = noBytes;
    this.pendingBytes = 0;
    return taken;
  }

  private overflow(bytes: Buffer, events: readonly SplitEvent[]): readonly SplitEvent[] {
    this.tooLarge = true;
    this.takePending();
    this.data = null;
    if (events.length === 0) return noEvents;
    this.bytes = bytes;
    return events;
  }
}

/**
 * The event that `bytes` end with, given to the end of its blank line: of that CRLF the chunk held the CR only, and the
 * LF that comes with the next one is skipped. Forwarded without it, SDKs that look for CRLF twice, not for line ends,
 * would read this event and the next as one.
 */
function withItsLf(bytes: Buffer, last: SplitEvent): Buffer {
  const isCrLf = bytes[last.end - 1] === CR && bytes[last.end - 2] === LF;
  if (!isCrLf) return bytes;
  const whole = Buffer.allocUnsafe(last.end + 1);
  bytes.copy(whole, 0, 0, last.end);
  whole[last.end] = LF;
  last.end += 1;
  return whole;
}

const dataName = [0x64, 0x61, 0x74, 0x61];
const eventName = [0x65, 0x76, 0x65, 0x6e, 0x74];
const errorName = [0x65, 0x72, 0x72, 0x6f, 0x72];

/** How many of the bytes of a BOM `bytes` begins with. */
function leadingBomBytes(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && count < bytes.length && bytes[count] === bom[count]) count += 1;
  return count;
}
