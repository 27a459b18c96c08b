import type { DecodeOptions, StreamDecoder, UpstreamDialect } from '../../../formats/dialects/dialect.ts';
import { contentChars, type NeutralEvent, standsForContent } from '../../../formats/neutral/event.ts';
import type { CallersToolNames } from '../../../formats/neutral/fit-tool-names.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { TaggedThoughts, type ThinkTags } from '../../../formats/neutral/tagged-thoughts.ts';
import { estimatedTokens, type Usage, withCounts } from '../../../formats/neutral/usage.ts';
import { isObject, type JsonValue, withOne } from '../../../kernel/json.ts';
import { createSplitter, type SseReader } from '../../../upstream/transport/sse-reader.ts';
import {
  type AnswerReader,
  countsNoOutput,
  emptyAnswer,
  parseAnswer,
  tooLargeEvent,
  WholeBody,
} from '../../spine/answer-reader.ts';
import type { OnGiven } from '../../spine/pass-through.ts';

/** The request's facts that the reader of a converted answer needs. */
interface ConvertedFacts {
  /** The client's usage has it when the upstream never gives its input tokens. */
  inputTokensEstimate: number;
  /** For an upstream of the caller's own format, whose ids the client sees. */
  onGiven?: OnGiven | undefined;
  /** When the target got other names. */
  callersToolNames?: CallersToolNames | undefined;
}

type UsageEvent = Extract<NeutralEvent, { type: 'usage' }>;

/** An answer of another dialect, asked as a stream or whole, as neutral events. */
export class ConvertedAnswer implements AnswerReader {
  contentEvents = 0;
  fault: Fault | null = null;
  usage: Usage | null = null;
  done = false;
  answeredAs: string | null = null;
  finishReason: string | null = null;
  readonly #source: EventSource;
  readonly #facts: ConvertedFacts;
  #contentChars = 0;
  /** The latest one; undefined: none has come. */
  #usageEvent: UsageEvent | undefined;
  /** It is not content: a citation, or a reason why there is none. */
  #hasMarks = false;
  /** Id of the spoken answer. */
  #audioId = '';

  constructor(source: EventSource, facts: ConvertedFacts) {
    this.#source = source;
    this.#facts = facts;
  }

  get malformedLines(): number {
    return this.#source.decoder?.malformedLines ?? 0;
  }

  get outputTokensSeen(): number {
    return estimatedTokens(this.#contentChars);
  }

  push(chunk: Buffer): readonly NeutralEvent[] | null {
    return this.fault === null ? this.#read(this.#source.push(chunk)) : null;
  }

  finish(): readonly NeutralEvent[] | null {
    if (this.fault !== null) return null;
    const events = this.#read(this.#source.finish());
    if (this.fault === null && !this.done) {
      this.fault = fault('truncated', 'ended the answer before its terminal event');
    }
    return events;
  }

  /** Chunks repeat the id of what they continue. */
  #noteAudioId(id: JsonValue | undefined): void {
    if (typeof id !== 'string' || id === this.#audioId) return;
    this.#audioId = id;
    this.#facts.onGiven?.([{ id, nameable: 'always' }]);
  }

  /** The provider's usage, with counts of this process where it lacks some. */
  #counted(): UsageEvent {
    const { inputTokensEstimate: inputTokens } = this.#facts;
    const { usage, outputTokensSeen: outputTokens } = this;
    const counted = usage === null ? { inputTokens, outputTokens } : withCounts(usage, inputTokens, outputTokens);
    return { ...this.#usageEvent, type: 'usage', usage: counted };
  }

  /** The events that the client may see; null: none. */
  #read(events: readonly NeutralEvent[]): readonly NeutralEvent[] | null {
    const { onGiven, callersToolNames } = this.#facts;
    let shown: NeutralEvent[] = [];
    for (const event of events) {
      if (event.type === 'failed') {
        this.fault = event.fault;
        break;
      }
      if (event.type === 'usage') {
        this.usage = event.impossible === true ? null : event.usage;
        if (this.usage === null) continue;
        this.#usageEvent = event;
      } else if (event.type === 'end') {
        if (this.contentEvents === 0 && !this.#hasMarks && countsNoOutput(this.usage)) {
          this.fault = emptyAnswer;
          break;
        }
        this.done = true;
        if (!this.usage?.inputTokens || !this.usage.outputTokens) shown = withOne(shown, this.#counted());
      } else if (event.type === 'start') {
        this.answeredAs = event.model;
        if (event.id !== null) onGiven?.([{ id: event.id, nameable: 'if-kept' }]);
      } else {
        const chars = contentChars(event);
        if (chars === null) this.#hasMarks ||= standsForContent(event);
        else {
          this.contentEvents++;
          this.#contentChars += chars;
          if (event.type === 'audio-delta') this.#noteAudioId(event.audio.id);
        }
      }
      if (event.type === 'finish') this.finishReason = event.reason;
      shown = withOne(shown, callersToolNames === undefined ? event : inCallersNames(event, callersToolNames));
    }
    return shown.length === 0 ? null : shown;
  }
}

function inCallersNames(event: NeutralEvent, names: CallersToolNames): NeutralEvent {
  if (event.type !== 'tool-call-start' || !Object.hasOwn(names, event.name)) return event;
  return { ...event, name: names[event.name]! };
}

/** Upstream bytes as neutral events. */
export interface EventSource {
  push(chunk: Buffer): readonly NeutralEvent[];
  finish(): readonly NeutralEvent[];
  /** Decoder of a stream; it knows how many lines were skipped as unreadable. */
  readonly decoder?: StreamDecoder | undefined;
}

/** A source whose texts hold thoughts. */
export class TaggedSource implements EventSource {
  readonly #source: EventSource;
  readonly #thoughts: TaggedThoughts;

  constructor(source: EventSource, tags: ThinkTags) {
    this.#source = source;
    this.#thoughts = new TaggedThoughts(tags);
  }

  get decoder(): StreamDecoder | undefined {
    return this.#source.decoder;
  }

  push(chunk: Buffer): readonly NeutralEvent[] {
    return this.#thoughts.pass(this.#source.push(chunk));
  }

  finish(): readonly NeutralEvent[] {
    return this.#thoughts.pass(this.#source.finish());
  }
}

export class StreamedSource implements EventSource {
  readonly #reader: SseReader;
  readonly decoder: StreamDecoder;

  /** `contentType` says how the events are framed. */
  constructor(dialect: UpstreamDialect, options: DecodeOptions | undefined, contentType: string) {
    this.#reader = createSplitter(contentType, dialect);
    this.decoder = dialect.decodeStream(options);
  }

  push(chunk: Buffer): readonly NeutralEvent[] {
    const read = this.#reader.push(chunk);
    // The common case, one event per chunk, passes the decoder's own list on.
    const events = read.length === 1 ? this.decoder.step(read[0]!) : read.flatMap((event) => this.decoder.step(event));
    if (!this.#reader.tooLarge) return events;
    return [...events, { type: 'failed', fault: tooLargeEvent() }];
  }

  finish(): readonly NeutralEvent[] {
    return [...this.#reader.end().flatMap((event) => this.decoder.step(event)), ...this.decoder.finish()];
  }
}

export class WholeSource implements EventSource {
  readonly #body = new WholeBody();
  readonly #dialect: UpstreamDialect;
  readonly #options: DecodeOptions | undefined;

  constructor(dialect: UpstreamDialect, options: DecodeOptions | undefined) {
    this.#dialect = dialect;
    this.#options = options;
  }

  push(chunk: Buffer): readonly NeutralEvent[] {
    const tooLarge = this.#body.add(chunk);
    return tooLarge === null ? [] : [{ type: 'failed', fault: tooLarge }];
  }

  finish(): readonly NeutralEvent[] {
    const parsed = parseAnswer(this.#body.bytes());
    if (parsed.fault !== null) return [{ type: 'failed', fault: parsed.fault }];
    if (!isObject(parsed.value))
      return [{ type: 'failed', fault: fault('malformed', 'sent an answer that is not a JSON object') }];
    return this.#dialect.decodeWhole(parsed.value, this.#options);
  }
}
