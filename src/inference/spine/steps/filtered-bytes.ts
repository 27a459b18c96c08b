import { StringDecoder } from 'node:string_decoder';
import { jsonIn } from '../../../formats/neutral/json-texts.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { AnswerTexts } from '../../models/steps.ts';
import { PassingSink } from '../passing-sink.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Refusal, Sink } from '../sink.ts';
import { FilteredStream, filteredJson } from './filtered-text.ts';
import { headersOfRefusal } from './refused-answer.ts';
import { throughFilter, throughFilterAsSubtitles } from './through-filter.ts';

export interface Begun {
  form: AnswerForm;
  headers: HeaderList;
  status: number | undefined;
  type: string;
}

/**
 * A sink before another, which passes the texts of an answer through their filters: of JSON, of plain text, or of events
 * whose data is JSON. Sound, pictures and other bytes go on as they are. A whole answer waits until it is there.
 */
export class FilteredBytes extends PassingSink {
  readonly #texts: AnswerTexts;
  #begun: Begun | null = null;
  readonly #whole: Buffer[] = [];
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #refusal: Refusal | null = null;
  #pace: Pace = 'ready';
  readonly #stream: FilteredStream<string>;

  constructor(next: Sink, texts: AnswerTexts) {
    super(next);
    this.#texts = texts;
    this.#stream = new FilteredStream(texts, (json, frame) => {
      this.#pace = next.chunk(withData(frame, json));
    });
  }

  get refusal(): Refusal | null {
    return this.#refusal;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    const type = headers[headers.findIndex((name, at) => at % 2 === 0 && name === 'content-type') + 1] ?? '';
    const isNamed = headers.includes('content-type');
    const read = form === 'bytes' || (isNamed && !isText(type)) ? 'bytes' : form;
    this.#begun = { form: read, headers, status, type: isNamed ? type : 'application/json' };
    if (read !== 'whole') this.next.start(form, headers, status);
  }

  override chunk(bytes: Bytes): Pace {
    const form = this.#begun?.form;
    if (form === 'bytes') return this.next.chunk(bytes);
    if (form === 'whole') this.#whole.push(Buffer.from(bytes));
    else if (this.#refusal === null) this.#frames(typeof bytes === 'string' ? bytes : this.#decoder.write(bytes));
    return this.#pace;
  }

  override end(failed: Failed | null): void {
    if (this.#refusal !== null) return;
    if (failed === null && this.#begun?.form === 'whole') this.#endWhole(this.#begun);
    else {
      if (this.#begun?.form === 'events') this.#guarded(() => this.#endEvents());
      if (this.#refusal === null) this.next.end(failed);
    }
  }

  #endWhole({ headers, status, type }: Begun): void {
    const text = Buffer.concat(this.#whole).toString('utf8');
    this.#guarded(() => {
      const passed = this.#text(text, type.includes('json') ? jsonIn(text) : null);
      this.next.start('whole', headers, status);
      this.next.chunk(passed);
      this.next.end(null);
    });
  }

  #endEvents(): void {
    if (this.#rest !== '') this.#frame(this.#rest);
    this.#stream.end();
  }

  #frames(text: string): void {
    const frames: string[] = [];
    const ends = /\n\r?\n/g;
    // What waited has been searched already: an event may hold a picture of some megabytes.
    ends.lastIndex = Math.max(0, this.#rest.length - 2);
    const all = this.#rest + text;
    let start = 0;
    while (ends.test(all)) {
      frames.push(all.slice(start, ends.lastIndex));
      start = ends.lastIndex;
      ends.lastIndex -= 1;
    }
    this.#rest = all.slice(start);
    this.#guarded(() => {
      for (const frame of frames) this.#frame(frame);
    });
  }

  #frame(frame: string): void {
    // Data of a server-sent event, whose lines are joined.
    const data = Array.from(frame.matchAll(dataLine), ([, line]) => line).join('\n');
    const event = jsonIn(data);
    if (isObject(event)) return this.#stream.take(data, event, frame);
    if (data !== '') this.#stream.end();
    const text = event === null ? data : JSON.stringify(event);
    const passed = isNoText(data) ? data : this.#text(text, event);
    this.#pace = this.next.chunk(passed === text ? frame : withData(frame, passed));
  }

  #text(text: string, value: JsonValue): string {
    if (value !== null) return filteredJson(this.#texts, text, value, 'assistant');
    return /x-subrip|text\/vtt/.test(this.#begun?.type ?? '')
      ? throughFilterAsSubtitles(this.#texts, text)
      : throughFilter(this.#texts, { kind: 'assistant', choice: 0 }, text);
  }

  /** A refusal ends the answer: what has gone on stays. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      this.#refusal = { failure: error.failure, begun: this.#begun?.form !== 'whole' };
      this.next.end({ failure: error.failure, headers: headersOfRefusal(this.#begun?.headers ?? []) });
    }
  }
}

/** JSON and texts, such as the subtitles of a transcript. */
const isText = (type: string) => /json|^text\/|^application\/x-subrip/.test(type);

/** Lines of data. Not `^` and `.` with the flag m: these end a line at U+2028 too, which JSON may hold as it is. */
const dataLine = /(?<![^\r\n])data: ?([^\r\n]*)\r?\n?/g;

/** True for the data of a comment, or of the end. */
const isNoText = (data: string) => data === '' || data === '[DONE]';

/** The event with other data, which has a line for each line of the data. */
function withData(frame: string, data: string): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  let rest = lines.join('');
  return frame.replace(dataLine, () => {
    const written = rest;
    rest = '';
    return written;
  });
}
