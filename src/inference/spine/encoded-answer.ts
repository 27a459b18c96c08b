import type { AnswerFold, StreamEncoder, StreamMark } from '../dialects/dialect.ts';
import type { NeutralEvent } from '../neutral/event.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { AttemptSink, AttemptSource, Chunk, Pace } from './sink.ts';

/** How events are written for the client: as frames of a stream, or folded into a whole answer. */
export interface EventWriter {
  add(event: NeutralEvent): string;
  /** The whole answer once the events have ended; '' for a stream. */
  result(): string;
  /** Where the stream stands, for dialects whose error frame must know. */
  mark?(): StreamMark | undefined;
}

export function streamWriter(encoder: StreamEncoder): EventWriter {
  return { add: (event) => encoder.step(event), result: () => '', mark: () => encoder.mark?.() };
}

export function foldWriter(fold: AnswerFold): EventWriter {
  return {
    add(event) {
      fold.add(event);
      return '';
    },
    result: () => JSON.stringify(fold.result()),
  };
}

/** Writes events in the client's dialect, for the sink after it; bytes go on as they are. */
export class EncodedAnswer implements AttemptSink {
  readonly #next: AttemptSink;
  readonly #newWriter: () => EventWriter;
  #writer: EventWriter | null = null;

  constructor(next: AttemptSink, newWriter: () => EventWriter) {
    this.#next = next;
    this.#newWriter = newWriter;
  }

  start(source: AttemptSource): void {
    this.#next.start(source);
  }

  content(): boolean {
    return this.#next.content();
  }

  chunk(chunk: Chunk): Pace {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) return this.#next.chunk(chunk);
    this.#writer ??= this.#newWriter();
    let written = '';
    for (const event of chunk) written += this.#writer.add(event);
    return written === '' ? 'ready' : this.#next.chunk(written);
  }

  end(found: Fault | null, mark?: StreamMark): ReturnType<AttemptSink['end']> {
    if (found !== null) return this.#next.end(found, this.#writer?.mark?.() ?? mark);
    const whole = this.#writer?.result() ?? '';
    if (whole !== '') this.#next.chunk(whole);
    return this.#next.end(null);
  }
}
