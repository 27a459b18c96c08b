import { textOf } from '../../../formats/dialects/openai-responses/decode-messages.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { PassingSink } from '../../spine/passing-sink.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from '../../spine/sink.ts';
import { dataOf, type ResponseFrame, ResponseFrames } from './response-frames.ts';

/** Begins the `encrypted_content` of a thought that its provider gave as text, which sets it apart from a provider's. */
export const thoughtMark = 'culvert.thought.';

/** Word of `include` by which a request wants thoughts that it can bring back. */
export const encryptedThoughts = 'reasoning.encrypted_content';

/** True if a body has that word in its `include`. */
export function includesSealedThoughts({ include }: JsonObject): boolean {
  return Array.isArray(include) && include.includes(encryptedThoughts);
}

/** Frames of a stream that hold items in their last form. */
const whole: ReadonlySet<string> = new Set(['response.output_item.done', 'response.completed', 'response.incomplete']);

/** The same sink, for a caller that brings thoughts back itself: each thought with a text and no proof is sealed. */
export class SealingSink extends PassingSink {
  readonly #seal: (text: string) => string;
  /** Sealed forms of texts: each frame of a stream has the same for one. */
  readonly #sealed = new Map<string, string>();
  #form: AnswerForm = 'whole';
  readonly #whole: Buffer[] = [];
  readonly #frames = new ResponseFrames();

  constructor(next: Sink, seal: (text: string) => string) {
    super(next);
    this.#seal = seal;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.#form = form;
    this.next.start(form, headers, status);
  }

  override chunk(chunk: Bytes): Pace {
    if (this.#form === 'whole') {
      // A copy: what passes through belongs to the transport, which may write over it.
      this.#whole.push(Buffer.from(chunk as Buffer));
      return 'ready';
    }
    const text = this.#frames
      .push(chunk)
      .map((frame) => this.#textOf(frame))
      .join('');
    return text === '' ? 'ready' : this.next.chunk(text);
  }

  override end(failed: Failed | null): void {
    const rest = this.#form === 'whole' ? '' : this.#frames.rest();
    if (rest !== '') this.next.chunk(rest);
    if (failed === null && this.#form === 'whole') {
      const answer = Buffer.concat(this.#whole).toString('utf8');
      const response = /"reasoning"/.test(answer) ? (JSON.parse(answer) as JsonObject) : null;
      this.next.chunk(response === null ? answer : JSON.stringify(this.#withSealed(response)));
    }
    this.next.end(failed);
  }

  #textOf({ text, type }: ResponseFrame): string {
    if (!whole.has(type) || !/"reasoning"/.test(text)) return text;
    const data = dataOf(text);
    if (!isObject(data)) return text;
    const { item, response } = data;
    const sealed = {
      ...data,
      ...(isObject(item) && { item: this.#sealedItem(item) }),
      ...(isObject(response) && { response: this.#withSealed(response) }),
    };
    return `event: ${type}\ndata: ${JSON.stringify(sealed)}\n\n`;
  }

  #withSealed(response: JsonObject): JsonObject {
    const { output } = response;
    if (!Array.isArray(output)) return response;
    return { ...response, output: output.map((item) => (isObject(item) ? this.#sealedItem(item) : item)) };
  }

  #sealedItem(item: JsonObject): JsonObject {
    if (item.type !== 'reasoning' || (item.encrypted_content ?? '') !== '') return item;
    const text = textOf(item.content) || textOf(item.summary);
    if (text === '') return item;
    const sealed = this.#sealed.get(text) ?? thoughtMark + this.#seal(text);
    this.#sealed.set(text, sealed);
    return { ...item, encrypted_content: sealed };
  }
}
