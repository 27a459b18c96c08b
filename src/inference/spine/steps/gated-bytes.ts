import { isFailure } from '../../../kernel/failure.ts';
import type { AnswerJudge, JudgedText } from '../../models/steps.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Refusal, Sink } from '../sink.ts';
import { type Begun, FilteredBytes } from './filtered-bytes.ts';
import { collecting, replacing } from './gated-events.ts';
import { headersOfRefusal } from './refused-answer.ts';

/** A sink before another, which holds an answer of texts until someone else has judged all of it. */
export class GatedBytes implements Sink {
  readonly #next: Sink;
  readonly #judge: AnswerJudge['of'];
  #start: Omit<Begun, 'type'> | null = null;
  readonly #held: Buffer[] = [];
  #passing: Promise<void> = Promise.resolve();
  #refusal: Refusal | null = null;

  constructor(next: Sink, judge: AnswerJudge['of']) {
    this.#next = next;
    this.#judge = judge;
  }

  get finished(): Promise<void> {
    return this.#passing.then(() => this.#next.finished);
  }

  get refusal(): Refusal | null {
    return this.#refusal ?? this.#next.refusal ?? null;
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.#start = { form, headers, status };
    if (form === 'bytes') this.#next.start(form, headers, status);
  }

  chunk(bytes: Bytes): Pace {
    if (this.#start?.form === 'bytes') return this.#next.chunk(bytes);
    this.#held.push(Buffer.from(bytes));
    return 'ready';
  }

  end(failed: Failed | null): void {
    if (failed !== null || this.#start === null || this.#start.form === 'bytes') return this.#next.end(failed);
    this.#passing = this.#pass(this.#start);
  }

  async #pass({ form, headers, status }: Omit<Begun, 'type'>): Promise<void> {
    const send = (sink: Sink) => {
      sink.start(form, headers, status);
      for (const bytes of this.#held) sink.chunk(bytes);
      sink.end(null);
    };
    const texts: JudgedText[] = [];
    send(new FilteredBytes(nowhere, collecting(texts)));
    const judged = texts.length === 0 ? [] : await this.#judge(texts);
    if (isFailure(judged)) {
      this.#refusal = { failure: judged, begun: false };
      return this.#next.end({ failure: judged, headers: headersOfRefusal(headers) });
    }
    const isSame = texts.every(({ text }, index) => text === judged[index]);
    send(isSame ? this.#next : new FilteredBytes(this.#next, replacing(judged)));
  }
}

const nowhere: Sink = { start() {}, chunk: () => 'ready', end() {} };
