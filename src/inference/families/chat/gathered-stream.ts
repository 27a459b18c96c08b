import type {
  CallerDialect,
  PassingReader,
  UpstreamDialect,
  WholeGatherer,
} from '../../../formats/dialects/dialect.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { createSplitter } from '../../../upstream/transport/sse-reader.ts';
import { type AnswerReader, tooLargeEvent } from '../../spine/answer-reader.ts';
import { PassedWhole, type PassingOptions } from '../../spine/pass-through.ts';
import type { Bytes } from '../../spine/sink.ts';

/** A whole answer that came as a stream of its caller's own format: the provider's own, with the ids that it gave. */
export class GatheredStream implements AnswerReader {
  contentEvents = 0;
  readonly malformedLines = 0;
  done = false;
  fault: Fault | null = null;
  readonly #reader: PassingReader;
  readonly #gatherer: WholeGatherer;
  readonly #splitter: ReturnType<typeof createSplitter>;
  readonly #whole: PassedWhole;

  constructor(dialect: CallerDialect & UpstreamDialect, gatherer: WholeGatherer, options: PassingOptions) {
    this.#reader = dialect.readInPassing();
    this.#gatherer = gatherer;
    this.#splitter = createSplitter(options.contentType ?? '', dialect);
    this.#whole = new PassedWhole(dialect, options);
  }

  get usage(): Usage | null {
    return this.#whole.usage ?? this.#reader.seen.usage;
  }

  get outputTokensSeen(): number {
    return this.#reader.seen.outputTokensSeen;
  }

  push(chunk: Buffer): null {
    if (this.fault !== null || this.done) return null;
    for (const event of this.#splitter.push(chunk)) this.#step(event);
    if (this.#splitter.tooLarge) this.fault ??= tooLargeEvent();
    return null;
  }

  finish(): Bytes | null {
    if (this.fault === null && !this.done) for (const event of this.#splitter.end()) this.#step(event);
    if (this.fault !== null) return null;
    const whole = this.#gatherer.whole();
    if (whole === null) {
      this.fault = fault('truncated', 'ended the stream before its terminal event');
      return null;
    }
    this.#whole.push(Buffer.from(JSON.stringify(whole)));
    const out = this.#whole.finish();
    this.fault = this.#whole.fault;
    this.contentEvents = Math.max(this.contentEvents, this.#whole.contentEvents);
    return out;
  }

  #step(event: { event: string; data: string }): void {
    if (this.fault !== null || this.done) return;
    const { content, fault: found } = this.#reader.step(event);
    this.fault = found;
    if (content) this.contentEvents++;
    this.#gatherer.step(event);
    this.done = this.#reader.seen.terminal;
  }
}
