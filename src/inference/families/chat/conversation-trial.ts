import type {
  AnswerHead,
  CallerDialect,
  CallerDialectId,
  PassingReader,
  UpstreamDialect,
  WholeGatherer,
} from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { MediaUrl } from '../../../formats/neutral/media-urls.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { RequestNeeds } from '../../../formats/neutral/request.ts';
import type { ServerTurn } from '../../../formats/neutral/server-turn.ts';
import type { ThinkTags } from '../../../formats/neutral/tagged-thoughts.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { bareName } from '../../../formats/providers/model-facts.ts';
import type { Provider } from '../../../formats/providers/provider.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { dialectFor } from '../../../routing/capability.ts';
import type { Target } from '../../../routing/target.ts';
import { createSplitter, isEventStream } from '../../../upstream/transport/sse-reader.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { type Answer, EncodedAnswer, StreamedAnswer, WholeAnswer, type WrittenFor } from '../../spine/answer.ts';
import { type AnswerReader, tooLargeEvent } from '../../spine/answer-reader.ts';
import { Attempt } from '../../spine/attempts/attempt.ts';
import type { Trial } from '../../spine/attempts/trial.ts';
import type { AttemptParts, Job, PreparedBody } from '../../spine/job.ts';
import { PassedStream, PassedWhole, type PassingOptions } from '../../spine/pass-through.ts';
import type { AttemptSink, Bytes, Chunk, Client } from '../../spine/sink.ts';
import { type AnswerPlace, type AnswerStep, type KeepingSteps, throughSteps } from '../../spine/steps/after.ts';
import type {
  ConversationBody,
  ConversationFacts,
  EncodedConversation,
  EncodeOrder,
  NeededMedia,
} from './conversation-body.ts';
import { ConvertedAnswer, StreamedSource, TaggedSource, WholeSource } from './converted-answer.ts';
import type { RequestMedia } from './fetch-media.ts';
import { storingPassedBytes } from './passed-answers.ts';
import {
  allTakeEffort,
  proofBytesMax,
  proofMarks,
  RefusedTrial,
  refusesEffort,
  refusesProofs,
  takesEffort,
  thoughtWords,
  withoutProofs,
} from './refused-proofs.ts';

/** State that the attempts at one conversation share. */
export interface Conversation {
  body: ConversationBody;
  /** The caller's. */
  dialect: CallerDialectId;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** One of several choices, asked for in a separate call; null: what the caller asked. */
  child: EncodeOrder['child'];
  /** See `AnswerHead`. Streams of other services do not go on as they come, nor do whole answers to OpenRouter's clients. */
  clientOf?: AnswerHead['clientOf'];
  /** Steps that its answer passes; null: it is the client's as it comes. */
  after: readonly AnswerStep[] | null;
  /** Keep it, where no step changes it. Absent: nobody does, or they are among the steps. */
  keeping?: KeepingSteps | undefined;
  /** Items of earlier answers that the body names, by id; undefined: it names none. */
  items?: EncodeOrder['items'];
  /** The turn of a model at this target for which this gateway runs tools; null or absent: it runs none. */
  turnFor?(target: Target): ServerTurn | null;
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

type Proofs = 'stay' | 'are left out';

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
): Trial | Failure | Promise<Trial | Failure> {
  const { attempt } = answer;
  const made = (prepared: PreparedConversation | Failure, proofs: Proofs): Trial | Failure => {
    if (isFailure(prepared)) return prepared;
    const { connection, config } = job.providers.get(attempt.target.provider)!;
    const { usageOf, id: provider, listsThoughts } = connection.provider;
    const { facts } = conversation.body;
    const { clientOf, dialect, answerModel: name, after, keeping } = conversation;
    const { model } = attempt.target;
    const thinkTags = prepared.upstreamDialect.id === 'openai-chat' ? attempt.target.thinkTags : undefined;
    const isOdd =
      listsThoughts?.(model, facts.needs.reasoning) ||
      (facts.stream ? clientOf !== undefined : clientOf === 'openrouter');
    if (thinkTags !== undefined || (isOdd && provider !== clientOf)) prepared.answer = 'converted';
    const taker = (
      facts.stream ? new StreamedAnswer(answer, prepared, prepared.bytes.length) : new WholeAnswer(answer, prepared)
    ) as AttemptSink;
    // A child is asked for one choice.
    const choices = conversation.child === null ? facts.n : 1;
    const place: AnswerPlace<C> = { answer, job, schema: prepared.schema };
    const written = writtenFor === null ? taker : new EncodedAnswer(taker, writtenFor);
    const cachedForm =
      keeping === undefined || prepared.answer === 'converted'
        ? null
        : storingPassedBytes(keeping, written, place, prepared.upstreamDialect.id, { ...facts, choices });
    const body: PreparedBody = {
      bytes: prepared.bytes,
      streamed: prepared.streamed,
      upstreamDialect: prepared.upstreamDialect,
      inputTokensEstimate: facts.needs.inputTokensEstimate,
      reader: (contentType, onGiven) => {
        const answerModel = name === undefined ? undefined : { dialect, name };
        const takerOfBytes = cachedForm?.takerOf(contentType);
        const options = { onGiven, usageOf, provider, choices, answerModel, thinkTags, taker: takerOfBytes };
        return readerFor(facts, prepared, dialects[dialect], contentType, options);
      },
    };
    const steps = cachedForm !== null || keeping === undefined ? after : [keeping.first, keeping.last];
    const sink = steps === null ? (cachedForm?.sink ?? written) : throughSteps(steps, written, place);
    const first = new Attempt(parts, job, attempt, body, sink);
    const { bytes, losses, upstreamDialect } = prepared;
    const mark = proofMarks[upstreamDialect.id];
    const mayStay = mark === undefined || proofs === 'are left out' || bytes.length > proofBytesMax;
    if (dialect !== 'openai-chat' && upstreamDialect.id === 'openai-chat' && bytes.includes('"reasoning_effort":'))
      return new RefusedTrial(first, async (refusal) =>
        refusesEffort(refusal, config, model, facts.needs)
          ? made(await prepareFor(attempt.target, conversation, job), proofs)
          : null,
      );
    if (mayStay || !bytes.includes(mark)) return first;
    return new RefusedTrial(first, (refusal) => {
      const rest = refusesProofs(refusal) ? withoutProofs(bytes, upstreamDialect.id) : null;
      const lost: Loss = { field: thoughtWords[dialect] ?? 'reasoning_content', why: 'unsupported' };
      return rest === null ? null : made({ ...prepared, bytes: rest, losses: [...losses, lost] }, 'are left out');
    });
  };
  const prepared = prepareFor(attempt.target, conversation, job);
  return prepared instanceof Promise ? prepared.then((late) => made(late, 'stay')) : made(prepared, 'stay');
}

/**
 * Body of an attempt: the caller's own bytes when the target speaks the caller's dialect, which no conversion touches,
 * or else the encoding of their meaning. Synchronous when the body is. `job`: whose it is; absent: nobody sends it.
 */
export function prepareFor(
  target: Target,
  { body, dialect: callers, providers, child, after, items, betas, turnFor, media }: Conversation,
  job?: Pick<Job, 'tenant' | 'query'>,
): PreparedConversation | Failure | Promise<PreparedConversation | Failure> {
  const { capabilities } = target;
  const { connection, config } = providers.get(target.provider)!;
  const order: EncodeOrder = {
    provider: connection.provider.id,
    inNetwork: connection.provider.local,
    dialect: dialectFor(target, callers),
    model: target.model,
    maxOutputTokens: target.maxOutputTokens,
    contextWindow: target.contextWindow,
    stream: target.stream && capabilities.streaming,
    neverStreams: !capabilities.streaming,
    wholeByStream: target.wholeByStream === true && capabilities.streaming,
    body: target.body,
    betas: connection.beta && betas ? `${connection.beta},${betas}` : connection.beta || betas || undefined,
    reasoning:
      capabilities.reasoning && (allTakeEffort || takesEffort(config, target.model, body.facts.needs))
        ? 'taken'
        : 'refused',
    child,
    items,
    turn: turnFor?.(target) ?? undefined,
    ...(target.thinkTags !== undefined && { thoughts: 'in the text' as const }),
    ...(target.promptCaching !== undefined && {
      promptCache: { ...target.promptCaching, scope: JSON.stringify([job?.tenant, job?.query.alias]) },
    }),
    ...(after?.some(({ needs }) => needs === 'schema') && { schema: 'wanted' as const }),
  };
  const { dialect: usualDialect } = order;
  const { needs } = body.facts;
  if (
    usualDialect === 'openai-chat' &&
    (needs.tools || needs.stop) &&
    goesByResponses(target, connection.provider, needs)
  )
    order.dialect = 'openai-responses';
  const encoded = body.encode(order);
  return encoded instanceof Promise ? encoded.then(prepared) : prepared(encoded);

  function prepared(
    encoded: EncodedConversation | NeededMedia | Failure,
  ): PreparedConversation | Failure | Promise<PreparedConversation | Failure> {
    if (isFailure(encoded)) {
      if (order.dialect === usualDialect) return encoded;
      // The other format has a place for what this one cannot say, such as a seed.
      order.dialect = usualDialect;
      const again = body.encode(order);
      return again instanceof Promise ? again.then(prepared) : prepared(again);
    }
    if ('neededMedia' in encoded) return withMedia(encoded.neededMedia);
    // A child's answer is merged with others: its bytes cannot be the caller's even in the same dialect.
    // Steps read what they pass on.
    const answer = child === null && after === null ? encoded.answer : 'converted';
    return { ...encoded, answer, upstreamDialect: dialects[order.dialect] } as const;
  }

  async function withMedia(needed: readonly MediaUrl[]): Promise<PreparedConversation | Failure> {
    if (order.media !== undefined) throw new Error('media were given and are wanted still');
    const fetched = await media().get(needed);
    if (isFailure(fetched)) return fetched;
    order.media = fetched.media;
    const marked = await prepared(await body.encode(order));
    if (isFailure(marked)) return marked;
    return { ...marked, bytes: await fetched.fill(marked.bytes, job?.tenant ?? '') };
  }
}

/** Whether the model must be asked in the Responses format by what has these needs, and its server speaks it. */
function goesByResponses(
  { dialect, alsoSpeaks = [], model }: Target,
  { toolsByResponses, stopByResponses }: Provider,
  { tools, stop }: RequestNeeds,
): boolean {
  if (!(tools && toolsByResponses?.test(bareName(model))) && !(stop && stopByResponses?.test(bareName(model))))
    return false;
  return dialect === 'openai-responses' || alsoSpeaks.includes('openai-responses');
}

/** The reader of an answer of this type. `onGiven` is called with ids that a conversation gives out. */
function readerFor(
  { stream, includeUsage, needs, extras }: ConversationFacts,
  { answer, streamed, unwrapTool, stop, callersToolNames, upstreamDialect }: PreparedConversation,
  callers: CallerDialect | (CallerDialect & UpstreamDialect),
  contentType: string,
  passing: Pick<PassingOptions, 'onGiven' | 'usageOf' | 'choices' | 'answerModel' | 'taker'> & {
    provider: string;
    thinkTags: ThinkTags | undefined;
  },
): AnswerReader {
  // Some servers stream where a whole answer was asked for, and the other way round. Believe what came.
  const comesStreamed = isEventStream(contentType) || (streamed && contentType === '');
  const passes = answer === 'pass-through';
  const { inputTokensEstimate } = needs;
  const { onGiven, usageOf, choices, answerModel, taker } = passing;
  if (passes && comesStreamed === stream) {
    const options = { onGiven, inputTokensEstimate, usageOf, choices, answerModel, contentType, taker };
    // Nobody looks whether an answer is empty that must be so.
    const reader = extras?.nativeFor === 'cache' ? { readInPassing: callers.readInPassing } : callers;
    return stream
      ? new PassedStream(reader, includeUsage ? 'show' : 'hide', options)
      : new PassedWhole(reader, options);
  }
  // What is kept are events, or bytes that passed as they came.
  if (passes && comesStreamed && taker === undefined && 'gatherWhole' in callers && callers.gatherWhole !== undefined) {
    return new GatheredStream(callers, callers.gatherWhole(), {
      onGiven,
      inputTokensEstimate,
      usageOf,
      answerModel,
      contentType,
    });
  }
  const options = { unwrapTool, stop, usageOf, choices, provider: passing.provider, callers: callers.id };
  const source = comesStreamed
    ? new StreamedSource(upstreamDialect, options, contentType)
    : new WholeSource(upstreamDialect, options);
  const { thinkTags: tags } = passing;
  return new ConvertedAnswer(tags === undefined ? source : new TaggedSource(source, tags), {
    inputTokensEstimate,
    onGiven,
    callersToolNames,
  });
}

/** A whole answer that came as a stream of its caller's own format: the provider's own, with the ids that it gave. */
class GatheredStream implements AnswerReader {
  contentEvents = 0;
  readonly malformedLines = 0;
  done = false;
  fault: Fault | null = null;
  readonly #reader: PassingReader;
  readonly #gatherer: WholeGatherer;
  readonly #splitter: ReturnType<typeof createSplitter>;
  readonly #whole: PassedWhole;

  constructor(dialect: CallerDialect & UpstreamDialect, gatherer: WholeGatherer, options: PassingOptions) {
    this.#reader = dialect.readInPassing({ usageOf: options.usageOf });
    this.#gatherer = gatherer;
    this.#splitter = createSplitter(options.contentType ?? '', dialect);
    this.#whole = new PassedWhole(dialect, options);
  }

  get usage(): Usage | null {
    return this.#whole.usage ?? this.#reader.seen.usage;
  }

  get outputTokensSeen(): number {
    return this.#reader.seen.outputTokensSeen;
  }

  push(chunk: Buffer): null {
    if (this.fault !== null || this.done) return null;
    for (const event of this.#splitter.push(chunk)) this.#step(event);
    if (this.#splitter.tooLarge) this.fault ??= tooLargeEvent();
    return null;
  }

  finish(): Bytes | null {
    if (this.fault === null && !this.done) for (const event of this.#splitter.end()) this.#step(event);
    if (this.fault !== null) return null;
    const whole = this.#gatherer.whole();
    if (whole === null) {
      this.fault = fault('truncated', 'ended the stream before its terminal event');
      return null;
    }
    this.#whole.push(Buffer.from(JSON.stringify(whole)));
    const out = this.#whole.finish();
    this.fault = this.#whole.fault;
    this.contentEvents = Math.max(this.contentEvents, this.#whole.contentEvents);
    return out;
  }

  #step(event: { event: string; data: string }): void {
    if (this.fault !== null || this.done) return;
    const { content, fault: found } = this.#reader.step(event);
    this.fault = found;
    if (content) this.contentEvents++;
    this.#gatherer.step(event);
    this.done = this.#reader.seen.terminal;
  }
}
