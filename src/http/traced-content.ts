import { PassingSink } from '../inference/spine/passing-sink.ts';
import type { Bytes, Failed, Pace, Sink } from '../inference/spine/sink.ts';
import type { Trace, TracedContent } from '../kernel/trace.ts';
import { LoggedText, withoutCredentials } from './log-bodies.ts';

/** Most UTF-16 units of the request, and of the answer, in a span. */
const contentCharsMax = 64 * 1024;

/** The same sink, which gives the trace of a request its content as soon as the answer is whole. */
export class TracedSink extends PassingSink {
  readonly #trace: Trace;
  readonly #contentOf: (answer: Buffer) => TracedContent;
  readonly #answer = new LoggedText();
  #isWithheld = false;

  constructor(next: Sink, trace: Trace, contentOf: (answer: Buffer) => TracedContent) {
    super(next);
    this.#trace = trace;
    this.#contentOf = contentOf;
  }

  /** The span has neither request nor answer. */
  withhold(): void {
    this.#isWithheld = true;
  }

  override chunk(chunk: Bytes): Pace {
    this.#answer.add(chunk);
    return this.next.chunk(chunk);
  }

  override end(failed: Failed | null): void {
    this.next.end(failed);
    if (failed !== null || this.#isWithheld) return;
    const { input, output } = this.#contentOf(this.#answer.bytes());
    this.#trace.content = { input: shown(input), output: shown(output) };
  }
}

function shown(text: string): string {
  return withoutCredentials(text).slice(0, contentCharsMax);
}
