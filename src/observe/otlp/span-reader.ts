import type { AttributeValue } from './span-writer.ts';

/** A span of a batch, as far as services need it that take no OTLP. Times are ms since the epoch. */
export interface ReadSpan {
  /** 32 hex digits. */
  traceId: string;
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, AttributeValue>>;
  /** Words of an error; null: none. */
  error: string | null;
}

const errorCode = 2;

/** The spans of an ExportTraceServiceRequest that `SpanSender` made. */
export function readSpans(body: Uint8Array): ReadSpan[] {
  const found: ReadSpan[] = [];
  for (const resourceSpans of bytesOf(body, 1)) {
    for (const scopeSpans of bytesOf(resourceSpans, 2)) {
      for (const span of bytesOf(scopeSpans, 2)) found.push(readSpan(span));
    }
  }
  return found;
}

/** Spans that a receiver did not take of a request that it answered with 200, and why: the partial success of its answer. */
export function readRejection(answer: Uint8Array): { spans: number; message: string } {
  let [spans, message] = [0, ''];
  for (const partial of bytesOf(answer, 1)) {
    for (const { field, value } of fieldsOf(partial)) {
      if (field === 1 && typeof value === 'number') spans = value;
      else if (field === 2 && typeof value !== 'number') message = textOf(value);
    }
  }
  return { spans, message };
}

function readSpan(bytes: Uint8Array): ReadSpan {
  const attributes: Record<string, AttributeValue> = {};
  let [traceId, startMs, endMs] = ['', 0, 0];
  let error: string | null = null;
  for (const { field, value } of fieldsOf(bytes)) {
    if (field === 7 || field === 8) {
      const ms = Number(viewOf(value as Uint8Array).getBigUint64(0, true) / 1_000_000n);
      if (field === 7) startMs = ms;
      else endMs = ms;
    } else if (typeof value === 'number') continue;
    else if (field === 1) traceId = Buffer.from(value).toString('hex');
    else if (field === 9) {
      const [key, read] = readAttribute(value);
      attributes[key] = read;
    } else if (field === 15) error = readStatus(value);
  }
  return { traceId, startMs, endMs, attributes, error };
}

function readAttribute(bytes: Uint8Array): [key: string, value: AttributeValue] {
  const [key = new Uint8Array()] = bytesOf(bytes, 1);
  const [value = new Uint8Array()] = bytesOf(bytes, 2);
  return [textOf(key), readValue(value)];
}

function readValue(bytes: Uint8Array): AttributeValue {
  for (const { field, value } of fieldsOf(bytes)) {
    if (typeof value === 'number') return field === 2 ? value === 1 : value;
    if (field === 1) return textOf(value);
    if (field === 4) return viewOf(value).getFloat64(0, true);
    if (field === 5) return [...bytesOf(value, 1)].map((one) => String(readValue(one)));
  }
  return '';
}

function readStatus(bytes: Uint8Array): string | null {
  let [message, code] = ['', 0];
  for (const { field, value } of fieldsOf(bytes)) {
    if (field === 3 && typeof value === 'number') code = value;
    else if (field === 2 && typeof value !== 'number') message = textOf(value);
  }
  return code === errorCode ? message : null;
}

function* bytesOf(bytes: Uint8Array, of: number): Generator<Uint8Array> {
  for (const { field, value } of fieldsOf(bytes)) if (field === of && typeof value !== 'number') yield value;
}

/** Fields of a message: varints as numbers, all others as bytes. */
function* fieldsOf(bytes: Uint8Array): Generator<{ field: number; value: number | Uint8Array }> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === 0) {
      yield { field, value: varint() };
      continue;
    }
    const length = wire === 1 ? 8 : wire === 5 ? 4 : varint();
    yield { field, value: bytes.subarray(at, at + length) };
    at += length;
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
