import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from '../../spine/sink.ts';
import { dataOf, type ResponseFrame, ResponseFrames } from './response-frames.ts';

const ends: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);
/** Frames that hold the response itself. */
const lifecycle = new Set(['response.created', 'response.queued', 'response.in_progress', ...ends]);

/**
 * The same sink, for a response that is kept: a caller that has received its end finds it. The fields that place the
 * response among others (`shown`) are written in here, since the upstream was asked without. A failed answer is not
 * kept.
 */
export class KeepingSink implements Sink {
  readonly #next: Sink;
  readonly #shown: (response: JsonObject) => JsonObject;
  readonly #keep: (response: JsonObject) => Promise<boolean>;
  #form: AnswerForm = 'whole';
  readonly #whole: Buffer[] = [];
  readonly #frames = new ResponseFrames();
  /** The frame that tells the end, and what came behind it; null: it has not come. */
  #end: { type: string; data: JsonObject; response: JsonObject; behind: string } | null = null;
  #finished: Promise<void> = Promise.resolve();

  /** `keep` resolves to whether it could; it never rejects. */
  constructor(
    next: Sink,
    shown: (response: JsonObject) => JsonObject,
    keep: (response: JsonObject) => Promise<boolean>,
  ) {
    this.#next = next;
    this.#shown = shown;
    this.#keep = keep;
  }

  /** Resolves when the client has its end. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.#form = form;
    this.#next.start(form, headers, status);
  }

  chunk(chunk: Bytes): Pace {
    if (this.#form === 'whole') {
      // A copy: what passes through belongs to the transport, which may write over it.
      this.#whole.push(Buffer.from(chunk as Buffer));
      return 'ready';
    }
    let text = '';
    for (const frame of this.#frames.push(chunk)) {
      if (this.#end === null) text += this.#textOf(frame);
      else this.#end.behind += frame.text;
    }
    return text === '' ? 'ready' : this.#next.chunk(text);
  }

  end(failed: Failed | null): void {
    if (failed !== null) this.#next.end(failed);
    else this.#finished = this.#form === 'whole' ? this.#endWhole() : this.#endStream();
  }

  async #endWhole(): Promise<void> {
    const response = this.#shown(JSON.parse(Buffer.concat(this.#whole).toString('utf8')) as JsonObject);
    this.#next.chunk(JSON.stringify(await this.#stored(response)));
    this.#next.end(null);
    await this.#next.finished;
  }

  async #endStream(): Promise<void> {
    const rest = this.#frames.rest();
    if (this.#end !== null) {
      const { type, data, response, behind } = this.#end;
      this.#next.chunk(frameOf(type, data, await this.#stored(response)) + behind + rest);
    } else if (rest !== '') this.#next.chunk(rest);
    this.#next.end(null);
    await this.#next.finished;
  }

  async #stored(response: JsonObject): Promise<JsonObject> {
    return (await this.#keep(response)) ? response : { ...response, store: false };
  }

  /** With what the response says of itself; '' for the end, which is held back. */
  #textOf({ text, type }: ResponseFrame): string {
    if (!lifecycle.has(type)) return text;
    const data = dataOf(text);
    if (!isObject(data) || !isObject(data.response)) return text;
    const response = this.#shown(data.response);
    if (!ends.has(type)) return frameOf(type, data, response);
    this.#end = { type, data, response, behind: '' };
    return '';
  }
}

function frameOf(type: string, data: JsonObject, response: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ ...data, response })}\n\n`;
}
