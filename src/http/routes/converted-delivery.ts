import { lossHeader, lossHeaderName } from '../../formats/neutral/loss.ts';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../../inference/spine/sink.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { PassedDelivery } from './passed-delivery.ts';

/** Fields of the families in the words of a door's callers. */
export type Words = Readonly<Record<string, string>>;

/** Facts of a call that a family answers in OpenAI's format, for a caller of another one. */
export interface ConvertedFacts {
  words: Words;
  /** Fields that were left out, in the caller's words. */
  lost: readonly string[];
  /** The whole answer in the caller's format; `lost`: all fields that were left out, those of the family too. */
  answerOf(answer: Buffer, lost: readonly string[]): JsonObject;
  /** Streams, and answers of other types than JSON, pass as they are. */
  jsonAlone?: true;
}

/** Largest answer of a family that is put together to be converted. */
const answerBytesMax = 256 * 1024 * 1024;

/** The caller as a family sees it, in one piece: takes an answer in OpenAI's format, and gives it on in another. */
export class ConvertedDelivery extends PassedDelivery {
  readonly #facts: ConvertedFacts;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #headers: HeaderList = [];
  #lost: readonly string[];
  #status = 200;
  #passes = false;

  constructor(next: Delivery, facts: ConvertedFacts) {
    super(next);
    this.#facts = facts;
    this.#lost = facts.lost;
  }

  /** Comments of a stream would be in front of a whole answer. */
  override expect(): void {}

  override start(form: AnswerForm, headers: HeaderList, status = 200): void {
    const { words, lost, jsonAlone } = this.#facts;
    const isJson = form === 'whole' && (!headers.includes('content-type') || headers.includes('application/json'));
    this.#passes = jsonAlone === true && !isJson;
    if (this.#passes) return this.next.start(form, headers, status);
    this.#lost = [...lost, ...lostIn(headers, words)];
    this.#headers = convertedHeaders(headers, lost, words);
    this.#status = status;
  }

  override chunk(chunk: Bytes): Pace {
    if (this.#passes) return this.next.chunk(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= answerBytesMax) this.#pieces.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    return 'ready';
  }

  override end(failed: Failed | null): void {
    if (failed !== null) return this.next.end({ ...failed, failure: failureIn(this.#facts.words, failed.failure) });
    if (this.#passes) return this.next.end(null);
    if (this.#bytes > answerBytesMax) return this.next.end({ failure: tooLarge, headers: this.#headers });
    const answer = this.#facts.answerOf(Buffer.concat(this.#pieces), this.#lost);
    this.next.start('whole', this.#headers, this.#status);
    this.next.chunk(JSON.stringify(answer));
    this.next.end(null);
  }
}

/** The caller of a stream, which the exchange's wire converts: headers and refusals have its own words. */
export class ConvertedStream extends PassedDelivery {
  readonly #facts: Omit<ConvertedFacts, 'answerOf'>;

  constructor(next: Delivery, facts: Omit<ConvertedFacts, 'answerOf'>) {
    super(next);
    this.#facts = facts;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.next.start(form, convertedHeaders(headers, this.#facts.lost, this.#facts.words), status);
  }

  override end(failed: Failed | null): void {
    this.next.end(failed && { ...failed, failure: failureIn(this.#facts.words, failed.failure) });
  }
}

const tooLarge: Failure = {
  kind: 'unsupported',
  message: 'The answer is too large for one piece. Ask for fewer or smaller parts.',
};

/** A refusal whose field has the caller's word. */
export function failureIn(words: Words, failure: Failure): Failure {
  if (failure.kind !== 'invalid-request' && failure.kind !== 'not-found') return failure;
  const { param, message } = failure;
  if (typeof param !== 'string') return failure;
  const word = words[param.replace(/[[.].*/s, '')];
  return word === undefined
    ? failure
    : { ...failure, param: word, message: message.replaceAll(`'${param}'`, `'${word}'`) };
}

/** Headers of a family's answer without the type, which is another one here, and with all that was left out. */
export function convertedHeaders(headers: HeaderList, lost: readonly string[], words: Words): string[] {
  const passed: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (name !== lossHeaderName && name !== 'content-type') passed.push(name, value);
  }
  const losses = [...lost, ...lostIn(headers, words)].map((field) => ({ field, why: 'unsupported' as const }));
  return losses.length === 0 ? passed : [...passed, lossHeaderName, lossHeader(losses)];
}

/** Fields that a family's headers name as left out, in the caller's words. */
function lostIn(headers: HeaderList, words: Words): string[] {
  const at = headers.indexOf(lossHeaderName);
  return at === -1 ? [] : (headers[at + 1] ?? '').split(', ').map((field) => words[field] ?? field);
}
