import { StringDecoder } from 'node:string_decoder';
import { parsedJson } from '../../../kernel/json.ts';
import type { Bytes } from '../../spine/sink.ts';

/** One frame of a stream, as it came: with the blank line at its end. */
export interface ResponseFrame {
  text: string;
  /** Type of the event: `response.created` …; '' when it has none. */
  type: string;
}

/** Cuts the bytes of a Responses stream into its frames, wherever the network cut them. */
export class ResponseFrames {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  push(chunk: Bytes): ResponseFrame[] {
    const blank = /\r?\n\r?\n/g;
    // What was there before has none, but for the beginning of one.
    blank.lastIndex = Math.max(0, this.#rest.length - 3);
    this.#rest += typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    const frames: ResponseFrame[] = [];
    let from = 0;
    while (blank.test(this.#rest)) {
      const text = this.#rest.slice(from, blank.lastIndex);
      // Providers write the type as the name of the event, or first in its data.
      frames.push({ text, type: /^(?:event: ?|data: ?\{\s*"type"\s*:\s*")([\w.]+)/m.exec(text)?.[1] ?? '' });
      from = blank.lastIndex;
    }
    if (from > 0) this.#rest = this.#rest.slice(from);
    return frames;
  }

  /** The text behind the last whole frame. */
  rest(): string {
    return this.#rest + this.#decoder.end();
  }
}

/** JSON of a frame's data; undefined when it is none. */
export function dataOf(frame: string): unknown {
  const data = frame
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5));
  return parsedJson(data.join('\n'));
}
