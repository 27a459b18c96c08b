import { errorInside } from '../../../formats/dialects/forwarded/read-whole.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { createSseSplitter, type SplitEvent } from '../../../upstream/transport/sse-reader.ts';
import { type AnswerReader, parseAnswer, tooLargeEvent } from '../../spine/answer-reader.ts';

/** Largest size of one image in base64; an upstream's image is read up to 64 MB. */
const eventBytesMax = 32 * 1024 * 1024;
/** Offset of an event's type: before its image or, in few bytes, after it. */
const typeWithinChars = 1_024;

/**
 * The stream of one image from a service of OpenAI's format. Unfinished ones are shown at once, unchanged: a new attempt
 * after a failure replaces them. The finished one is given out as in a whole answer, and whatever follows it is not read: a
 * service that breaks then has charged for it.
 */
export class DrawnStream implements AnswerReader {
  readonly contentEvents = 0;
  readonly malformedLines = 0;
  readonly usage: Usage | null = null;
  fault: Fault | null = null;
  readonly #splitter = createSseSplitter({ eventBytesMax });
  readonly #show: (frame: Buffer) => void;
  #finished: string | null = null;

  /** `show` is given whole events of unfinished pictures, each once. */
  constructor(show: (frame: Buffer) => void) {
    this.#show = show;
  }

  get done(): boolean {
    return this.#finished !== null;
  }

  push(chunk: Buffer): null {
    this.#take(this.#splitter.push(chunk));
    if (this.#splitter.tooLarge && !this.done) this.fault ??= tooLargeEvent();
    return null;
  }

  finish(): Buffer | null {
    this.#take(this.#splitter.end());
    if (!this.done) this.fault ??= fault('truncated', 'ended the stream before its picture was finished');
    return this.fault === null ? Buffer.from(`{"data":[${this.#finished}]}`) : null;
  }

  #take(events: readonly SplitEvent[]): void {
    for (const { data, start, end } of events) {
      if (this.fault !== null || this.done) return;
      const kind = kindOf(data);
      if (kind === 'partial_image') this.#show(this.#splitter.bytes.subarray(start, end));
      else if (kind === 'completed') this.#finished = data;
      else this.#lookForError(data);
    }
  }

  #lookForError(data: string): void {
    const { value } = parseAnswer(Buffer.from(data));
    const error = errorInside(value);
    if (error !== null) this.fault = error;
  }
}

/** By its words and not by parsing: base64 has no dot, so no picture holds them. */
function kindOf(data: string): 'partial_image' | 'completed' | null {
  const ends =
    data.length <= 2 * typeWithinChars ? data : data.slice(0, typeWithinChars) + data.slice(-typeWithinChars);
  const found = /"image_(?:generation|edit)\.(partial_image|completed)"/.exec(ends);
  return found === null ? null : (found[1] as 'partial_image' | 'completed');
}
