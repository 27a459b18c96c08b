import { StringDecoder } from 'node:string_decoder';
import type { Bytes } from '../spine/sink.ts';

/** One frame of a stream, as it came: with the blank line at its end. */
export interface ResponseFrame {
  text: string;
  /** Of the event: `response.created` …; '' when it has none. */
  type: string;
}

/** Cuts the bytes of a Responses stream into its frames, wherever the network cut them. */
export class ResponseFrames {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  push(chunk: Bytes): ResponseFrame[] {
    this.#rest += typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    const frames: ResponseFrame[] = [];
    let from = 0;
    for (;;) {
      const end = endOfFrame(this.#rest, from);
      if (end < 0) break;
      const text = this.#rest.slice(from, end);
      frames.push({ text, type: typeOf(text) });
      from = end;
    }
    if (from > 0) this.#rest = this.#rest.slice(from);
    return frames;
  }

  /** What is left behind the last whole frame. */
  rest(): string {
    return this.#rest + this.#decoder.end();
  }
}

function endOfFrame(text: string, from: number): number {
  const plain = text.indexOf('\n\n', from);
  const carriage = text.indexOf('\r\n\r\n', from);
  if (carriage >= 0 && (plain < 0 || carriage < plain)) return carriage + 4;
  return plain < 0 ? -1 : plain + 2;
}

/** Providers write the type as the name of the event, or first in its data. */
function typeOf(frame: string): string {
  return /^(?:event: ?|data: ?\{\s*"type"\s*:\s*")([\w.]+)/m.exec(frame)?.[1] ?? '';
}

/** JSON of a frame's data; undefined when it is none. */
export function dataOf(frame: string): unknown {
  const data = frame
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5));
  try {
    return JSON.parse(data.join('\n'));
  } catch {
    return undefined;
  }
}
