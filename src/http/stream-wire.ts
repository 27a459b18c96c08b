import type { StreamWire } from '../formats/dialects/dialect.ts';
import type { Bytes } from '../inference/spine/sink.ts';
import { largeEventBytesMax } from '../kernel/limits.ts';
import { createSseReader } from '../upstream/transport/sse-reader.ts';

const nothing = Buffer.alloc(0);

/** Gives for the next bytes of a stream those that leave for them; none for a comment, or half an event. */
export function openWire({ frameOf, keepAlive }: StreamWire): (chunk: Bytes) => Bytes {
  if (frameOf === undefined) return (chunk) => (isComment(chunk) ? nothing : chunk);
  const reader = createSseReader({ eventBytesMax: largeEventBytesMax });
  return (chunk) => {
    // Frames leave whole, so it is never within one.
    if (keepAlive === undefined && isComment(chunk)) return chunk;
    const frames = reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk).flatMap((event) => {
      const frame = frameOf(event);
      return frame === null ? [] : [frame];
    });
    return frames.length === 1 ? (frames[0] ?? nothing) : Buffer.concat(frames);
  };
}

/** Whether it is one of server-sent events: lines of JSON have none. */
function isComment(chunk: Bytes): boolean {
  return typeof chunk === 'string' && chunk.startsWith(':');
}
