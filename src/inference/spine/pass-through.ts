import { isAscii } from 'node:buffer';
import { type AnswerModel, eventWithModel, wholeWithModel } from '../../formats/dialects/answer-model.ts';
import type {
  CallerDialect,
  DecodeOptions,
  PassingReader,
  SseEvent,
  StreamMark,
  UpstreamDialect,
} from '../../formats/dialects/dialect.ts';
import { brokenLine, isEndMark } from '../../formats/dialects/event-data.ts';
import type { GivenId } from '../../formats/dialects/named-objects.ts';
import { type Fault, fault } from '../../formats/neutral/outcome.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import { isObject, type JsonObject, type JsonValue, parsedData } from '../../kernel/json.ts';
import { createSplitter, type SplitEvent, type SseSplitter } from '../../upstream/transport/sse-reader.ts';
import {
  type AnswerReader,
  countsNoOutput,
  emptyAnswer,
  isEmptyAnswer,
  parseAnswer,
  tooLargeEvent,
  WholeBody,
} from './answer-reader.ts';
import { correctCounts, countsFor, mayHaveImpossibleCounts } from './impossible-counts.ts';
import type { Bytes } from './sink.ts';

/** Readers of a format whose answers are forwarded; for conversations, also how to read them. */
type ReadInPassing = Pick<CallerDialect, 'readInPassing'> &
  Pick<UpstreamDialect, 'eventBytesMax'> &
  Partial<Pick<UpstreamDialect, 'decodeStream' | 'decodeWhole'>>;

/** Facts of its request for the reader of a forwarded answer. */
export interface PassingOptions {
  onGiven?: OnGiven | undefined;
  /** Count that replaces an impossible count of the provider. */
  inputTokensEstimate?: number;
  usageOf?: DecodeOptions['usageOf'];
  choices?: DecodeOptions['choices'];
  /** Name that the answer gives its model; absent: the provider's name. */
  answerModel?: AnswerModel | undefined;
  /** Answer in place of a whole answer. Absent: its bytes are passed on. */
  shape?: ((answer: JsonValue, inputTokens: number) => JsonObject) | undefined;
  /** Content type of the answer, which says how its events are framed. Absent: server-sent events. */
  contentType?: string;
  /** Gets the upstream's bytes, too. */
  taker?: PassedTaker | undefined;
}

/** Takes the upstream's bytes for a caller in its format, before anything in them is hidden or renamed. */
export interface PassedTaker {
  /** The next bytes of a stream; the transport may write over them later. */
  piece(chunk: Buffer): void;
  /** All of a whole answer, which is one; the value may change later. */
  whole(bytes: Buffer, value: JsonObject): void;
}

/** Gets the ids that an answer gives out, before the bytes that hold them are passed on. */
export type OnGiven = (ids: readonly GivenId[]) => void;

class PassedAnswer {
  contentEvents = 0;
  /** Forwarded unchanged, for the caller to judge. */
  readonly malformedLines = 0;
  fault: Fault | null = null;
  protected readonly reader: PassingReader;

  constructor(reader: PassingReader) {
    this.reader = reader;
  }

  get usage(): Usage | null {
    return this.reader.seen.usage;
  }

  get answeredAs(): string | null {
    return this.reader.seen.answeredAs ?? null;
  }

  get finishReason(): string | null {
    return this.reader.seen.finishReason ?? null;
  }

  get outputTokensSeen(): number {
    return this.reader.seen.outputTokensSeen;
  }
}

/** A same-dialect stream, forwarded as the bytes it came in and only read for usage, content and its terminal event. */
export class PassedStream extends PassedAnswer implements AnswerReader {
  done = false;
  readonly #splitter: SseSplitter;
  /** Tells whether the chunk that carries only usage is shown. */
  readonly #usageChunk: 'show' | 'hide';
  readonly #dialect: ReadInPassing;
  readonly #onGiven: OnGiven | undefined;
  readonly #taker: PassedTaker | undefined;
  readonly #inputTokensEstimate: number;
  /** Null once no event can hold it any more. */
  #answerModel: AnswerModel | null;
  #given = 0;
  /** Events before the first content; null once it has come, and when nobody could read them. */
  #unsaid: SseEvent[] | null;

  constructor(
    dialect: ReadInPassing,
    usageChunk: 'show' | 'hide',
    { onGiven, inputTokensEstimate = 0, usageOf, choices, answerModel, contentType = '', taker }: PassingOptions = {},
  ) {
    const shownInputTokens = usageChunk === 'show' ? inputTokensEstimate : undefined;
    super(dialect.readInPassing({ usageOf, choices, names: onGiven !== undefined, shownInputTokens }));
    this.#dialect = dialect;
    this.#unsaid = dialect.decodeStream === undefined ? null : [];
    this.#inputTokensEstimate = inputTokensEstimate;
    this.#answerModel = answerModel ?? null;
    this.#splitter = createSplitter(contentType, dialect);
    this.#usageChunk = usageChunk;
    this.#onGiven = onGiven;
    this.#taker = taker;
  }

  get mark(): StreamMark | undefined {
    return this.reader.seen.mark;
  }

  push(chunk: Buffer): Bytes | null {
    if (this.fault !== null) return null;
    if (this.#taker !== undefined) this.#taker.piece(chunk);
    const out = this.#forward(this.#splitter.push(chunk));
    if (this.#splitter.tooLarge) this.fault ??= tooLargeEvent();
    return out;
  }

  finish(): Bytes | null {
    if (this.fault !== null) return null;
    // An event that lacks its end may have been cut with the stream: callers' clients would break on half of one.
    const out = this.#forward(this.#splitter.end().filter(({ data }) => isEndMark(data) || parsedData(data) !== null));
    const { terminal, closing } = this.reader.seen;
    if (!terminal) this.fault ??= fault('truncated', 'ended the stream before its terminal event');
    else if (this.#isEmpty()) this.fault ??= emptyAnswer;
    if (this.fault !== null || closing === undefined || closing === '') return out;
    // Some services finish every choice and leave the terminal frame out; clients wait for it.
    return out === null ? closing : Buffer.concat([Buffer.from(out as Buffer), Buffer.from(closing)]);
  }

  /** At once: the caller may use each of them from now on. */
  #reportGiven(): void {
    const { given } = this.reader.seen;
    if (given === undefined || given.length === this.#given) return;
    this.#onGiven!(given.slice(this.#given));
    this.#given = given.length;
  }

  /** Finished but without its end mark is not the end: usage, or the mark itself, may follow. */
  #lookForEnd(): void {
    const { terminal, closing } = this.reader.seen;
    this.done = terminal && (closing === undefined || closing === '');
  }

  #isEmpty(): boolean {
    if (this.#unsaid === null || !countsNoOutput(this.usage)) return false;
    const decoder = this.#dialect.decodeStream!();
    return isEmptyAnswer([...this.#unsaid.flatMap((event) => decoder.step(event)), ...decoder.finish()]);
  }

  /** The event with the name that its model has for the caller; null: unchanged. */
  #named({ data }: SplitEvent, answerModel: AnswerModel): string | null {
    const named = eventWithModel(data, answerModel);
    if (named.last) this.#answerModel = null;
    return named.data;
  }

  /** The event with the counts of this process, if its counts are impossible; null: unchanged. */
  #corrected({ data }: SseEvent): string | null {
    if (!usageObject.test(data)) return null;
    const { usage } = this;
    if (usage !== null && usage.inputTokens > 0 && usage.outputTokens > 0 && !mayHaveImpossibleCounts(data))
      return null;
    const parsed = parsedData(data);
    return correctCounts(parsed, countsFor(usage, this.#inputTokensEstimate, this.outputTokensSeen))
      ? JSON.stringify(parsed)
      : null;
  }

  /** One slice per run of shown events: usually the whole chunk, uncopied. */
  #forward(events: readonly SplitEvent[]): Bytes | null {
    let out: Buffer | null = null;
    let runStart = -1;
    let runEnd = -1;
    for (const event of events) {
      const verdict = this.reader.step(event);
      // Bytes after the end mark are not part of the answer, readable or not.
      if (verdict.fault !== null && !(this.done && verdict.fault === brokenLine)) {
        this.fault = verdict.fault;
        break;
      }
      if (verdict.content) {
        this.contentEvents++;
        this.#unsaid = null;
      } else {
        this.#unsaid?.push(event);
        this.#lookForEnd();
      }
      if (verdict.usageOnly && this.#usageChunk === 'hide') {
        if (runStart !== -1) out = join(out, this.#splitter.bytes.subarray(runStart, runEnd));
        runStart = -1;
        continue;
      }
      // OpenAI has it in each chunk once usage is requested. Clients of Mistral and OpenRouter, which never do, refuse null.
      const [hidden] = (this.#usageChunk === 'hide' && event.data.includes('"usage"') && noUsage.exec(event.data)) || [
        '',
      ];
      const at = hidden === '' ? -1 : this.#splitter.bytes.indexOf(hidden, event.start, 'latin1');
      if (at !== -1) this.#splitter.bytes.fill(' ', at, at + hidden.length);
      const mended = verdict.data === undefined ? event : { ...event, data: verdict.data };
      const named = this.#answerModel === null ? null : this.#named(mended, this.#answerModel);
      const alone = verdict.content && verdict.usageBeside !== true;
      const corrected = alone ? null : this.#corrected(named === null ? mended : { ...mended, data: named });
      // Over two lines of an event it is nowhere in the bytes.
      const isLost = hidden !== '' && at === -1;
      const rewritten = isLost ? event.data.replace(hidden, '').replaceAll('\n', '\ndata: ') : null;
      const changed = corrected ?? named ?? verdict.data ?? rewritten;
      if (changed !== null) {
        if (runStart !== -1) out = join(out, this.#splitter.bytes.subarray(runStart, runEnd));
        runStart = -1;
        const name = event.event === '' ? '' : `event: ${event.event}\n`;
        // Written anew it has other blanks.
        const shown = hidden === '' ? changed : changed.replace(noUsage, '');
        out = join(out, Buffer.from(`${verdict.before ?? ''}${name}data: ${shown}\n\n`));
        continue;
      }
      if (runStart === -1) runStart = event.start;
      runEnd = event.end;
    }
    if (runStart !== -1) out = join(out, this.#splitter.bytes.subarray(runStart, runEnd));
    if (this.#onGiven !== undefined) this.#reportGiven();
    return out;
  }
}

const usageObject = /"usage(?:Metadata)?"\s*:\s*\{/;

/** A member with its comma, however it is spaced. Spaces in its place are as good to a reader of JSON. */
const noUsage = /,\s*"usage"\s*:\s*null|"usage"\s*:\s*null\s*,/;

/** Longer answers leave as bytes, behind their head. */
const textBytesMax = 8_192;

/** A same-dialect whole answer: the bytes are the caller's once they turn out to be one. */
export class PassedWhole extends PassedAnswer implements AnswerReader {
  readonly done = false;
  readonly #body: WholeBody = new WholeBody();
  readonly #dialect: ReadInPassing;
  readonly #onGiven: OnGiven | undefined;
  readonly #inputTokensEstimate: number;
  readonly #answerModel: AnswerModel | undefined;
  readonly #taker: PassedTaker | undefined;
  readonly #shape: PassingOptions['shape'];

  constructor(
    dialect: ReadInPassing,
    { onGiven, inputTokensEstimate = 0, usageOf, answerModel, shape, taker }: PassingOptions = {},
  ) {
    super(dialect.readInPassing({ usageOf, names: onGiven !== undefined }));
    this.#answerModel = answerModel;
    this.#taker = taker;
    this.#shape = shape;
    this.#dialect = dialect;
    this.#onGiven = onGiven;
    this.#inputTokensEstimate = inputTokensEstimate;
  }

  push(chunk: Buffer): null {
    this.fault ??= this.#body.add(chunk);
    return null;
  }

  finish(): Bytes | null {
    if (this.fault !== null) return null;
    const bytes = this.#body.bytes();
    // One text to read and to send: it leaves in one piece with its head.
    const text = bytes.length <= textBytesMax && isAscii(bytes) ? bytes.toString('latin1') : undefined;
    const parsed = parseAnswer(bytes, text);
    this.fault = parsed.fault ?? this.reader.whole(parsed.value);
    if (this.fault === null && this.#isEmpty(parsed.value)) this.fault = emptyAnswer;
    if (this.fault !== null) return null;
    if (this.#taker !== undefined) this.#taker.whole(bytes, parsed.value as JsonObject);
    this.contentEvents = 1;
    const { given, mended = false, usage } = this.reader.seen;
    if (given !== undefined && given.length > 0) this.#onGiven?.(given);
    const counted = countsFor(usage, this.#inputTokensEstimate, this.outputTokensSeen);
    if (this.#shape !== undefined) {
      correctCounts(parsed.value, counted);
      return Buffer.from(JSON.stringify(this.#shape(parsed.value as JsonValue, counted.input)));
    }
    const named = this.#answerModel === undefined ? bytes : wholeWithModel(bytes, parsed.value, this.#answerModel);
    if (correctCounts(parsed.value, counted) || mended) return Buffer.from(JSON.stringify(parsed.value));
    return named === bytes ? (text ?? bytes) : named;
  }

  #isEmpty(answer: unknown): boolean {
    if (this.#dialect.decodeWhole === undefined || !countsNoOutput(this.usage)) return false;
    return isObject(answer) && isEmptyAnswer(this.#dialect.decodeWhole(answer));
  }
}

function join(before: Buffer | null, next: Buffer): Buffer {
  return before === null ? next : Buffer.concat([before, next]);
}
