import type {
  CallerDialect,
  CallerDialectId,
  DecodeOptions,
  Result,
  StreamDecoder,
  UpstreamDialect,
} from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { contentChars, type NeutralEvent, standsForContent } from '../../../formats/neutral/event.ts';
import type { CallersToolNames } from '../../../formats/neutral/fit-tool-names.ts';
import type { MediaUrl } from '../../../formats/neutral/media-urls.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { ServerTurn } from '../../../formats/neutral/server-turn.ts';
import { estimatedTokens, type Usage } from '../../../formats/neutral/usage.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { dialectFor } from '../../../routing/capability.ts';
import type { Target } from '../../../routing/target.ts';
import { createSplitter, isEventStream, type SseReader } from '../../../upstream/transport/sse-reader.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { type AnswerStep, throughSteps } from '../../spine/after.ts';
import { type Answer, EncodedAnswer, StreamedAnswer, WholeAnswer, type WrittenFor } from '../../spine/answer.ts';
import {
  type AnswerReader,
  countsNoOutput,
  emptyAnswer,
  parseAnswer,
  tooLargeEvent,
  WholeBody,
} from '../../spine/answer-reader.ts';
import { Attempt } from '../../spine/attempt.ts';
import type { AttemptParts, Job, PreparedBody } from '../../spine/job.ts';
import { type OnGiven, PassedStream, PassedWhole, type PassingOptions } from '../../spine/pass-through.ts';
import type { AttemptSink, Chunk, Client } from '../../spine/sink.ts';
import type {
  ConversationBody,
  ConversationFacts,
  EncodedConversation,
  EncodeOrder,
  MediaWanted,
} from './conversation-body.ts';
import type { RequestMedia } from './fetch-media.ts';
import { GatheredStream } from './gathered-stream.ts';

/** State that the attempts at one conversation share. */
export interface Conversation {
  body: ConversationBody;
  /** The caller's. */
  dialect: CallerDialectId;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** One of several choices, asked for in a separate call; null: what the caller asked. */
  child: EncodeOrder['child'];
  /** Steps that its answer passes; null: it is the client's as it comes. */
  after: readonly AnswerStep[] | null;
  /** Items of earlier answers that the body names, by id; undefined: it names none. */
  items?: EncodeOrder['items'];
  /** A turn of a model for which this gateway may run tools; absent: it runs none. */
  turn?: ServerTurn;
  /** Whether it does so at this target; absent: at none. */
  runsToolsFor?(target: Target): boolean;
  /** The caller's `anthropic-beta`; absent: none. */
  betas?: string | undefined;
  /** Name that its answer gives the model; absent: the provider's. */
  answerModel?: string | undefined;
  /** `client` tells that nobody waits for them any more. Default: the request's own. */
  media(client?: Client): RequestMedia;
}

/** Body for a target, and the format of its answer. */
export interface PreparedConversation extends EncodedConversation {
  upstreamDialect: UpstreamDialect;
}

/**
 * One attempt at a conversation. Its events are written as `writtenFor` says; null: the job's sink takes them as they
 * are. Synchronous when its body is, so that the common case costs no turn of the loop.
 */
export function conversationTrial<C extends Chunk>(
  parts: AttemptParts,
  job: Job<C>,
  conversation: Conversation,
  answer: Answer<C>,
  writtenFor: WrittenFor | null,
): Attempt | Failure | Promise<Attempt | Failure> {
  const { attempt } = answer;
  const made = (prepared: PreparedConversation | Failure) => {
    if ('kind' in prepared) return prepared;
    const { facts } = conversation.body;
    const taker = (
      facts.stream ? new StreamedAnswer(answer, prepared) : new WholeAnswer(answer, prepared)
    ) as AttemptSink;
    const body: PreparedBody = {
      bytes: prepared.bytes,
      streamed: prepared.streamed,
      upstreamDialect: prepared.upstreamDialect,
      inputTokensEstimate: facts.needs.inputTokensEstimate,
      reader: (contentType, onGiven) => {
        const { usageOf } = job.providers.get(attempt.target.provider)!.connection.provider;
        // A child is asked for one choice.
        const choices = conversation.child === null ? facts.n : 1;
        const { dialect, answerModel: name } = conversation;
        const answerModel = name === undefined ? undefined : { dialect, name };
        return readerFor(facts, prepared, dialects[dialect], contentType, { onGiven, usageOf, choices, answerModel });
      },
    };
    const written = writtenFor === null ? taker : new EncodedAnswer(taker, writtenFor);
    const { after } = conversation;
    const sink = after === null ? written : throughSteps(after, written, { answer, job, schema: prepared.schema });
    return new Attempt(parts, job, attempt, body, sink);
  };
  const prepared = prepareFor(attempt.target, conversation, job);
  return prepared instanceof Promise ? prepared.then(made) : made(prepared);
}

/**
 * Body of an attempt: the caller's own bytes when the target speaks the caller's dialect, which no conversion touches,
 * or else the encoding of their meaning. Synchronous when the body is. `job`: whose it is; absent: nobody sends it.
 */
export function prepareFor(
  target: Target,
  { body, dialect: callers, providers, child, after, items, betas, turn, runsToolsFor, media }: Conversation,
  job?: Pick<Job, 'tenant' | 'query'>,
): PreparedConversation | Failure | Promise<PreparedConversation | Failure> {
  const { capabilities } = target;
  const { connection } = providers.get(target.provider)!;
  const order: EncodeOrder = {
    provider: connection.provider.id,
    dialect: dialectFor(target, callers),
    model: target.model,
    maxOutputTokens: target.maxOutputTokens,
    contextWindow: target.contextWindow,
    stream: target.stream && capabilities.streaming,
    neverStreams: !capabilities.streaming,
    wholeByStream: target.wholeByStream === true && capabilities.streaming,
    body: target.body,
    betas: connection.beta && betas ? `${connection.beta},${betas}` : connection.beta || betas || undefined,
    reasoning: capabilities.reasoning ? 'taken' : 'refused',
    child,
    items,
    ...(turn !== undefined && runsToolsFor?.(target) === true && { turn }),
    ...(target.promptCaching !== undefined && {
      promptCache: { ...target.promptCaching, scope: JSON.stringify([job?.tenant, job?.query.alias]) },
    }),
    ...(after?.some(({ wants }) => wants === 'schema') && { schema: 'wanted' as const }),
  };
  const encoded = body.encode(order);
  return encoded instanceof Promise ? encoded.then(prepared) : prepared(encoded);

  function prepared(encoded: Result<EncodedConversation | MediaWanted>) {
    if (!encoded.ok) return encoded.failure;
    if ('mediaWanted' in encoded.value) return withMedia(encoded.value.mediaWanted);
    // A child's answer is merged with others: its bytes cannot be the caller's even in the same dialect.
    // Steps read what they pass on.
    const answer = child === null && after === null ? encoded.value.answer : 'converted';
    return { ...encoded.value, answer, upstreamDialect: dialects[order.dialect] } as const;
  }

  async function withMedia(wanted: readonly MediaUrl[]): Promise<PreparedConversation | Failure> {
    if (order.media !== undefined) throw new Error('media were given and are wanted still');
    const fetched = await media().get(wanted);
    if (!fetched.ok) return fetched.failure;
    order.media = fetched.value;
    return prepared(await body.encode(order));
  }
}

/** The reader of an answer of this type. `onGiven` is called with ids that a conversation gives out. */
function readerFor(
  { stream, includeUsage, needs }: ConversationFacts,
  { answer, streamed, unwrapTool, stop, callersToolNames, upstreamDialect }: PreparedConversation,
  callers: CallerDialect | (CallerDialect & UpstreamDialect),
  contentType: string,
  { onGiven, usageOf, choices, answerModel }: Pick<PassingOptions, 'onGiven' | 'usageOf' | 'choices' | 'answerModel'>,
): AnswerReader {
  // Some servers stream where a whole answer was asked for, and the other way round. Believe what came.
  const comesStreamed = contentType === '' ? streamed : isEventStream(contentType);
  const passes = answer === 'pass-through';
  const { inputTokensEstimate } = needs;
  if (passes && comesStreamed === stream) {
    const options = { onGiven, inputTokensEstimate, usageOf, choices, answerModel, contentType };
    return stream
      ? new PassedStream(callers, includeUsage ? 'show' : 'hide', options)
      : new PassedWhole(callers, options);
  }
  if (passes && comesStreamed && 'gatherWhole' in callers && callers.gatherWhole !== undefined) {
    return new GatheredStream(callers, callers.gatherWhole(), {
      onGiven,
      inputTokensEstimate,
      answerModel,
      contentType,
    });
  }
  const options = { unwrapTool, stop, usageOf, choices };
  const source = comesStreamed
    ? new StreamedSource(upstreamDialect, options, contentType)
    : new WholeSource(upstreamDialect, options);
  return new ConvertedAnswer(source, { inputTokensEstimate, onGiven, callersToolNames });
}

/** The request's facts that the reader of a converted answer needs. */
interface ConvertedFacts {
  inputTokensEstimate: number;
  onGiven?: OnGiven | undefined;
  callersToolNames?: CallersToolNames | undefined;
}

/** An answer of another dialect, asked as a stream or whole, as neutral events. */
class ConvertedAnswer implements AnswerReader {
  contentEvents = 0;
  fault: Fault | null = null;
  usage: Usage | null = null;
  done = false;
  answeredAs: string | null = null;
  finishReason: string | null = null;
  readonly #source: EventSource;
  readonly #inputTokensEstimate: number;
  readonly #onGiven: OnGiven | undefined;
  readonly #toolNames: CallersToolNames | undefined;
  #contentChars = 0;
  /** It is not content: a citation, or a reason why there is none. */
  #tells = false;
  /** Id of the spoken answer. */
  #spoken = '';

  /**
   * The client's usage has the estimate when the upstream never gives its input tokens. `onGiven`: for an upstream of
   * the caller's own format, whose ids the client sees. `callersToolNames`: when the target got other names.
   */
  constructor(source: EventSource, { inputTokensEstimate, onGiven, callersToolNames }: ConvertedFacts) {
    this.#source = source;
    this.#inputTokensEstimate = inputTokensEstimate;
    this.#onGiven = onGiven;
    this.#toolNames = callersToolNames;
  }

  get malformedLines(): number {
    return this.#source.decoder?.malformedLines() ?? 0;
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
  #spoke(id: JsonValue | undefined): void {
    if (typeof id !== 'string' || id === this.#spoken) return;
    this.#spoken = id;
    this.#onGiven?.([{ id, nameable: 'always' }]);
  }

  #counted(): Usage {
    return { inputTokens: this.#inputTokensEstimate, outputTokens: this.outputTokensSeen };
  }

  /** The events that the client may see; null: none. */
  #read(events: readonly NeutralEvent[]): readonly NeutralEvent[] | null {
    const shown: NeutralEvent[] = [];
    for (const event of events) {
      if (event.type === 'failed') {
        this.fault = event.fault;
        break;
      }
      if (event.type === 'usage') {
        this.usage = event.impossible === true ? null : event.usage;
        if (this.usage === null) continue;
      } else if (event.type === 'end') {
        if (this.contentEvents === 0 && !this.#tells && countsNoOutput(this.usage)) {
          this.fault = emptyAnswer;
          break;
        }
        this.done = true;
        if (this.usage === null) shown.push({ type: 'usage', usage: this.#counted() });
      } else if (event.type === 'start') {
        this.answeredAs = event.model;
        if (event.id !== null) this.#onGiven?.([{ id: event.id, nameable: 'if-kept' }]);
      } else {
        const chars = contentChars(event);
        if (chars === null) this.#tells ||= standsForContent(event);
        else {
          this.contentEvents++;
          this.#contentChars += chars;
          if (event.type === 'audio-delta') this.#spoke(event.audio.id);
        }
      }
      if (event.type === 'finish') this.finishReason = event.reason;
      shown.push(this.#toolNames === undefined ? event : inCallersNames(event, this.#toolNames));
    }
    return shown.length === 0 ? null : shown;
  }
}

function inCallersNames(event: NeutralEvent, names: CallersToolNames): NeutralEvent {
  if (event.type !== 'tool-call-start' || !Object.hasOwn(names, event.name)) return event;
  return { ...event, name: names[event.name]! };
}

/** Upstream bytes as neutral events. */
interface EventSource {
  push(chunk: Buffer): readonly NeutralEvent[];
  finish(): readonly NeutralEvent[];
  /** Decoder of a stream; it knows how many lines were skipped as unreadable. */
  readonly decoder?: StreamDecoder;
}

class StreamedSource implements EventSource {
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

class WholeSource implements EventSource {
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
