import { StringDecoder } from 'node:string_decoder';
import { FailureError } from '../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';
import type { AnswerTexts } from '../models/steps.ts';
import { FilteredStream, filteredJson, throughFilter } from './filtered-text.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from './sink.ts';

interface Begun {
  form: AnswerForm;
  headers: HeaderList;
  status: number | undefined;
  type: string;
}

/**
 * A sink before another, which passes the texts of an answer through their filters: of JSON, of plain text, or of events
 * whose data is JSON. Sound, pictures and other bytes go on as they are. A whole answer waits until it is there.
 */
export class FilteredBytes implements Sink {
  readonly #next: Sink;
  readonly #texts: AnswerTexts;
  #begun: Begun | null = null;
  readonly #whole: Buffer[] = [];
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #refused = false;
  #pace: Pace = 'ready';
  readonly #stream: FilteredStream<string>;

  constructor(next: Sink, texts: AnswerTexts) {
    this.#next = next;
    this.#texts = texts;
    this.#stream = new FilteredStream(texts, (json, frame) => {
      this.#pace = next.chunk(json === '' ? frame : frame.replace(/^data:.*$/m, () => `data: ${json}`));
    });
  }

  get finished(): Promise<void> {
    return this.#next.finished ?? Promise.resolve();
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    const type = headers[headers.findIndex((name, at) => at % 2 === 0 && name === 'content-type') + 1] ?? '';
    const isNamed = headers.includes('content-type');
    const read = form === 'bytes' || (isNamed && !/json|^text\//.test(type)) ? 'bytes' : form;
    this.#begun = { form: read, headers, status, type: isNamed ? type : 'application/json' };
    if (read !== 'whole') this.#next.start(form, headers, status);
  }

  chunk(bytes: Bytes): Pace {
    const form = this.#begun?.form;
    if (form === 'bytes') return this.#next.chunk(bytes);
    if (form === 'whole') this.#whole.push(Buffer.from(bytes));
    else if (!this.#refused) this.#frames(typeof bytes === 'string' ? bytes : this.#decoder.write(bytes));
    return this.#pace;
  }

  end(failed: Failed | null): void {
    if (this.#refused) return;
    if (failed === null && this.#begun?.form === 'whole') this.#endWhole(this.#begun);
    else {
      if (this.#begun?.form === 'events') this.#guarded(() => this.#stream.end());
      if (this.#rest !== '' && !this.#refused) this.#next.chunk(this.#rest);
      if (!this.#refused) this.#next.end(failed);
    }
  }

  #endWhole({ headers, status, type }: Begun): void {
    const text = Buffer.concat(this.#whole).toString('utf8');
    this.#guarded(() => {
      const isJson = type.includes('json') && text !== '';
      const passed = isJson
        ? filteredJson(this.#texts, text, JSON.parse(text) as JsonValue, 'assistant')
        : throughFilter(this.#texts, { kind: 'assistant', choice: 0 }, text);
      this.#next.start('whole', headers, status);
      this.#next.chunk(passed);
      this.#next.end(null);
    });
  }

  #frames(text: string): void {
    const frames = (this.#rest + text).split(/(?<=\r?\n\r?\n)/);
    this.#rest = /\n\r?\n$/.test(frames.at(-1) ?? '') ? '' : (frames.pop() ?? '');
    this.#guarded(() => {
      for (const frame of frames) {
        const data = /^data: ?(\{.*)$/m.exec(frame)?.[1];
        const event: unknown = data === undefined ? null : JSON.parse(data);
        if (data !== undefined && isObject(event)) this.#stream.take(data, event, frame);
        else {
          this.#stream.end();
          this.#pace = this.#next.chunk(frame);
        }
      }
    });
  }

  /** A refusal ends the answer: what has gone on stays. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      this.#refused = true;
      this.#next.end({ failure: error.failure, headers: this.#begun?.headers ?? [] });
    }
  }
}
