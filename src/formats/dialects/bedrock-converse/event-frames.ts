import { crc32 } from 'node:zlib';
import type { SseEvent, StreamWire } from '../dialect.ts';

/** AWS's event stream for ConverseStream: each event is a frame of its name. */
export const converseFrames: StreamWire = {
  type: 'application/vnd.amazon.eventstream',
  keepAlive,
  frameOf: ({ event, data }) =>
    isException(event)
      ? frameOf(exceptionHeaders(event), data)
      : event === ''
        ? null
        : frameOf(eventHeaders(event), data),
};

/**
 * Frames of InvokeModelWithResponseStream: an event of the model's format is a chunk, in base64. Nova's are those of
 * Converse, each below its name.
 */
export const invokeFrames: StreamWire = {
  type: 'application/vnd.amazon.eventstream',
  keepAlive,
  frameOf({ event, data }) {
    if (isException(event)) return frameOf(exceptionHeaders(event), data);
    if (event === 'ping' || data === '[DONE]') return null;
    const chunk = ofConverse.has(event) ? `{"${event}":${data}}` : data;
    return frameOf(eventHeaders('chunk'), `{"bytes":"${Buffer.from(chunk).toString('base64')}"}`);
  },
};

const ofConverse: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
]);

/** An event that AWS's SDKs do not know, as they will meet others that AWS adds: they skip it. */
function keepAlive(): Buffer {
  return frameOf(eventHeaders('keepAlive'), '{}');
}

function isException(name: SseEvent['event']): boolean {
  return name.endsWith('Exception');
}

/** Two lengths and their checksum, and the checksum of all. */
const preludeBytes = 12;
const checksumBytes = 4;
const textType = 7;

/** A frame of AWS's event stream encoding: headers, then the payload, each length and both checksums big-endian. */
function frameOf(headers: Buffer, payload: string): Buffer {
  const bodyBytes = Buffer.byteLength(payload);
  const total = preludeBytes + headers.length + bodyBytes + checksumBytes;
  const frame = Buffer.allocUnsafe(total);
  frame.writeUInt32BE(total, 0);
  frame.writeUInt32BE(headers.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  headers.copy(frame, preludeBytes);
  frame.write(payload, preludeBytes + headers.length, 'utf8');
  frame.writeUInt32BE(crc32(frame.subarray(0, total - checksumBytes)), total - checksumBytes);
  return frame;
}

/** Encoded names. There are few, and each is made once. */
const made = new Map<string, Buffer>();
const madeMax = 64;

function eventHeaders(name: string): Buffer {
  return headersOf(`event ${name}`, [
    [':event-type', name],
    [':content-type', 'application/json'],
    [':message-type', 'event'],
  ]);
}

function exceptionHeaders(name: string): Buffer {
  return headersOf(`exception ${name}`, [
    [':exception-type', name],
    [':content-type', 'application/json'],
    [':message-type', 'exception'],
  ]);
}

function headersOf(key: string, headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const before = made.get(key);
  if (before !== undefined) return before;
  const bytes = Buffer.concat(
    headers.flatMap(([name, value]) => {
      const length = Buffer.allocUnsafe(2);
      length.writeUInt16BE(Buffer.byteLength(value));
      return [Buffer.from([name.length]), Buffer.from(name), Buffer.from([textType]), length, Buffer.from(value)];
    }),
  );
  if (made.size >= madeMax) made.clear();
  made.set(key, bytes);
  return bytes;
}
