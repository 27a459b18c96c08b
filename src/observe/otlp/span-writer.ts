/**
 * Spans in OTLP's protobuf, written once, as they end. The SDK's way (an object a span, which its exporter walks twice)
 * costs 34 µs for the four spans of a request, this 2 (docs/decisions/0025): ids stay bytes, and what most spans
 * repeat (their name and most attributes) is written once and copied.
 */

export type AttributeValue = string | number | boolean | readonly string[];
/** Values that are null or undefined are left out. */
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>;

const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** The part that spans of one kind share: name, kind, attributes, status; encoded. */
export type SharedPart = Buffer;

export interface SharedFacts {
  name: string;
  kind: keyof typeof spanKinds;
  attributes: Attributes;
  /** Null: no error. '' : one without words. */
  error: string | null;
}

// Fields of Span, as tags: number << 3 | wire type.
const traceIdTag = 0x0a;
const spanIdTag = 0x12;
const traceStateTag = 0x1a;
const parentTag = 0x22;
const nameTag = 0x2a;
const kindTag = 0x30;
const startTag = 0x39;
const endTag = 0x41;
const attributeTag = 0x4a;
const statusTag = 0x7a;
/** Two bytes: field 16, four bytes long. */
const flagsTag = 0x0185;
const errorCode = 2;
/** `HAS_IS_REMOTE`, and `IS_REMOTE` where the parent is another process's. */
const flagsOurs = 0x101;
const flagsRemote = 0x301;

/** All of a span but its strings: ids, times, flags and lengths. */
const fixedBytes = 96;
const idBytes = 8;
const traceIdBytes = 16;

export function sharedPart({ name, kind, attributes, error }: SharedFacts): SharedPart {
  const parts = [lengthDelimited(nameTag, Buffer.from(name)), Buffer.from([kindTag, spanKinds[kind]])];
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) parts.push(attribute(key, value));
  }
  if (error !== null) {
    const message = error === '' ? [] : [lengthDelimited(0x12, Buffer.from(error))];
    parts.push(lengthDelimited(statusTag, Buffer.concat([...message, Buffer.from([0x18, errorCode])])));
  }
  return Buffer.concat(parts);
}

export function attribute(key: string, value: AttributeValue): Buffer {
  return lengthDelimited(attributeTag, keyValue(key, value));
}

/** One attribute of a resource, whose field has another number. */
export function resourceAttribute(key: string, value: AttributeValue): Buffer {
  return lengthDelimited(0x0a, keyValue(key, value));
}

function keyValue(key: string, value: AttributeValue): Buffer {
  return Buffer.concat([lengthDelimited(0x0a, Buffer.from(key)), lengthDelimited(0x12, anyValue(value))]);
}

function anyValue(value: AttributeValue): Buffer {
  if (typeof value === 'string') return lengthDelimited(0x0a, Buffer.from(value.toWellFormed()));
  if (typeof value === 'boolean') return Buffer.from([0x10, value ? 1 : 0]);
  if (typeof value !== 'number') {
    return lengthDelimited(0x2a, Buffer.concat(value.map((one) => lengthDelimited(0x0a, anyValue(one)))));
  }
  if (Number.isSafeInteger(value) && value >= 0) return Buffer.concat([Buffer.from([0x18]), varint(value)]);
  const double = Buffer.alloc(9);
  double[0] = 0x21;
  double.writeDoubleLE(value, 1);
  return double;
}

export function lengthDelimited(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([tagged(tag, bytes.length), bytes]);
}

/** The prefix of a field with this many bytes. */
export function tagged(tag: number, bytes: number): Buffer {
  return Buffer.concat([Buffer.from([tag]), varint(bytes)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The name of an attribute whose value differs from span to span: tag, length and key, ready to be copied. */
export class Key {
  readonly bytes: Buffer;

  constructor(name: string) {
    this.bytes = lengthDelimited(0x0a, Buffer.from(name));
  }
}

/** Place and time of a span: ids as bytes of a pool, times in ms since the epoch. */
export interface SpanPlace {
  ids: Buffer;
  traceIdAt: number;
  spanIdAt: number;
  /** Offset in `ids`; negative: it has no parent. */
  parentIdAt: number;
  /** The parent is a span of the caller. */
  remoteParent: boolean;
  traceState: string;
  startMs: number;
  endMs: number;
}

/** Writes spans one behind the other into a buffer, whose owner sends them. */
export class SpanWriter {
  buffer: Buffer;
  at = 0;
  #lengthAt = 0;

  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** Whether a span of this shared part and this many further bytes fits. */
  hasRoom(shared: SharedPart, spanBytes: number): boolean {
    return this.at + fixedBytes + shared.length + spanBytes <= this.buffer.length;
  }

  /** Begins a span, which `end` ends; its attributes come in between. */
  begin(place: SpanPlace, shared: SharedPart): void {
    const { buffer } = this;
    const { ids, traceState } = place;
    // ScopeSpans.spans; its length takes four bytes, whatever it is.
    buffer[this.at] = 0x12;
    this.#lengthAt = this.at + 1;
    this.at += 5;
    this.#id(traceIdTag, ids, place.traceIdAt, traceIdBytes);
    this.#id(spanIdTag, ids, place.spanIdAt, idBytes);
    if (place.parentIdAt >= 0) this.#id(parentTag, ids, place.parentIdAt, idBytes);
    this.#time(startTag, place.startMs);
    this.#time(endTag, place.endMs);
    const { at } = this;
    const flags = place.remoteParent ? flagsRemote : flagsOurs;
    buffer[at] = flagsTag & 0xff;
    buffer[at + 1] = flagsTag >> 8;
    buffer[at + 2] = flags & 0xff;
    buffer[at + 3] = flags >> 8;
    buffer[at + 4] = 0;
    buffer[at + 5] = 0;
    this.at = at + 6;
    if (traceState !== '') this.copy(lengthDelimited(traceStateTag, Buffer.from(traceState)));
    this.copy(shared);
  }

  end(): void {
    const length = this.at - this.#lengthAt - 4;
    const { buffer } = this;
    const at = this.#lengthAt;
    buffer[at] = (length & 0x7f) | 0x80;
    buffer[at + 1] = ((length >> 7) & 0x7f) | 0x80;
    buffer[at + 2] = ((length >> 14) & 0x7f) | 0x80;
    buffer[at + 3] = (length >> 21) & 0x7f;
  }

  copy(bytes: Buffer): void {
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** A whole number from 0 to 2^53. */
  int({ bytes: key }: Key, value: number): void {
    let size = 1;
    for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
    this.#begin(key, size + 1, 0x18);
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.buffer[this.at++] = (rest % 128) | 0x80;
    this.buffer[this.at++] = rest;
  }

  double({ bytes: key }: Key, value: number): void {
    this.#begin(key, 9, 0x21);
    this.at = this.buffer.writeDoubleLE(value, this.at);
  }

  /** ASCII, of up to 60 characters. */
  ascii({ bytes: key }: Key, value: string): void {
    this.#begin(key, value.length + 2, 0x0a);
    this.buffer[this.at++] = value.length;
    this.at += this.buffer.write(value, this.at, 'latin1');
  }

  /** Up to the first byte of an AnyValue of `size` bytes; all lengths are below 128. */
  #begin(key: Buffer, size: number, tag: number): void {
    const { buffer } = this;
    buffer[this.at] = attributeTag;
    buffer[this.at + 1] = key.length + 2 + size;
    this.at += 2;
    this.copy(key);
    buffer[this.at] = 0x12;
    buffer[this.at + 1] = size;
    buffer[this.at + 2] = tag;
    this.at += 3;
  }

  #id(tag: number, ids: Buffer, from: number, size: number): void {
    const { buffer, at } = this;
    buffer[at] = tag;
    buffer[at + 1] = size;
    for (let i = 0; i < size; i += 1) buffer[at + 2 + i] = ids[from + i]!;
    this.at = at + 2 + size;
  }

  /** Nanoseconds, known to the microsecond: more than a double holds. */
  #time(tag: number, ms: number): void {
    const { buffer, at } = this;
    const us = Math.round(ms * 1_000);
    const low = (us % 0x1_0000_0000) * 1_000;
    const high = Math.floor(us / 0x1_0000_0000) * 1_000 + Math.floor(low / 0x1_0000_0000);
    buffer[at] = tag;
    buffer.writeUInt32LE(low % 0x1_0000_0000, at + 1);
    buffer.writeUInt32LE(high, at + 5);
    this.at = at + 9;
  }
}
