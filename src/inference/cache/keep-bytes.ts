import { lossHeaderName } from '../../formats/neutral/loss.ts';
import { isGiven } from '../../formats/neutral/value-checks.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';
import { PassingSink } from '../spine/passing-sink.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from '../spine/sink.ts';
import type { KeepingEvents } from './collected-events.ts';
import { type CachedAnswer, cachedBytesMax } from './packed-entry.ts';
import { dataOf, isJson } from './renewed-ids.ts';

/** Passes an answer on, and keeps it once it is complete: bytes of a family with one format. */
export class KeepingSink extends PassingSink {
  readonly #endpoint: string;
  readonly #keeping: Pick<KeepingEvents, 'keep' | 'lost'>;
  #headers: HeaderList = [];
  /** Null: the answer is not kept. */
  #pieces: Buffer[] | null = null;
  #bytes = 0;

  constructor(next: Sink, endpoint: string, keeping: Pick<KeepingEvents, 'keep' | 'lost'>) {
    super(next);
    this.#endpoint = endpoint;
    this.#keeping = keeping;
  }

  override start(form: AnswerForm, headers: HeaderList, status = 200): void {
    this.#headers = headers;
    if (status === 200) this.#pieces = [];
    this.next.start(form, headers, status);
  }

  override chunk(chunk: Bytes): Pace {
    this.#bytes += chunk.length;
    if (this.#bytes > cachedBytesMax && this.#pieces !== null) {
      this.#pieces = null;
      this.#keeping.lost();
    }
    // A copy: what passes through belongs to the transport, which may write over it.
    this.#pieces?.push(Buffer.from(chunk as string));
    return this.next.chunk(chunk);
  }

  override end(failed: Failed | null): void {
    const entry = failed === null && this.#pieces !== null ? this.#entry(Buffer.concat(this.#pieces)) : null;
    if (entry !== null) this.#keeping.keep(entry);
    this.next.end(failed);
  }

  #entry(body: Buffer): CachedAnswer | null {
    const of = (name: string) => {
      const at = this.#headers.findIndex((value, place) => place % 2 === 0 && value === name);
      return at < 0 ? null : (this.#headers[at + 1] ?? null);
    };
    const usd = of('x-culvert-cost-usd');
    const contentType = of('content-type');
    if (isJson(contentType) && !isComplete(body.toString('utf8'))) return null;
    return {
      answer: { contentType, losses: of(lossHeaderName), base64: body.toString('base64') },
      provider: of('x-culvert-provider') ?? '',
      model: of('x-culvert-model') ?? '',
      usd: usd === null ? null : Number(usd),
      losses: [],
      endpoint: this.#endpoint,
    };
  }
}

/** Whether no part of it says that it ended before its time: all choices of a completion stopped, whole or in events. */
function isComplete(text: string): boolean {
  const values = text.trimStart().startsWith('{') ? [text] : text.split('\n').flatMap(dataOf);
  try {
    return values.every((value) => hasOnlyStopped(JSON.parse(value)));
  } catch {
    return false;
  }
}

function hasOnlyStopped(value: JsonValue): boolean {
  if (!isObject(value) || isGiven(value.error)) return false;
  const { choices } = value;
  if (!Array.isArray(choices)) return true;
  return choices.every(
    (choice) => !isObject(choice) || !isGiven(choice.finish_reason) || choice.finish_reason === 'stop',
  );
}
