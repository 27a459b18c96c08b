import type { Failure } from '../../kernel/failure.ts';
import type { UpstreamDialect } from '../dialects/dialect.ts';
import type { Target } from '../routing/target.ts';
import { type Answer, StreamedAnswer, WholeAnswer } from '../spine/answer.ts';
import type { AnswerReader } from '../spine/answer-reader.ts';
import { Attempt } from '../spine/attempt.ts';
import type { EncodedBody } from '../spine/encode-forwarded.ts';
import type { AttemptParts, Job } from '../spine/job.ts';
import { type OnGiven, PassedStream, PassedWhole, type PassingOptions } from '../spine/pass-through.ts';
import type { AttemptSink, Chunk } from '../spine/sink.ts';
import { ConvertedAnswer, StreamedSource, WholeSource } from './converted.ts';
import { GatheredStream } from './gathered-stream.ts';
import type { PreparedConversation } from './prepare.ts';

/** What the attempts at one conversation have in common. */
export interface Conversation {
  facts: ReaderFacts;
  prepare(target: Target): PreparedConversation | Failure | Promise<PreparedConversation | Failure>;
}

/**
 * One attempt at a conversation, which yields to `sinkOf` of what takes its answer. Synchronous when its body is, so
 * that the common case costs no turn of the loop.
 */
export function conversationTrial<C extends Chunk>(
  parts: AttemptParts,
  job: Job<C>,
  { facts, prepare }: Conversation,
  answer: Answer<C>,
  sinkOf: (taker: AttemptSink) => AttemptSink,
): Attempt | Failure | Promise<Attempt | Failure> {
  const { attempt } = answer;
  const made = (prepared: PreparedConversation | Failure) => {
    if ('kind' in prepared) return prepared;
    const { upstreamDialect } = prepared;
    const { usageOf } = job.providers.get(attempt.target.provider)!.connection.provider;
    const taker = facts.stream ? new StreamedAnswer(answer, prepared) : new WholeAnswer(answer, prepared);
    const body = {
      bytes: prepared.bytes,
      streamed: prepared.streamed,
      upstreamDialect,
      inputTokensEstimate: facts.inputTokensEstimate,
      reader: (contentType: string, onGiven?: OnGiven) =>
        readerFor(facts, prepared, upstreamDialect, contentType, { onGiven, usageOf }),
    };
    return new Attempt(parts, job, attempt, body, sinkOf(taker as AttemptSink));
  };
  const prepared = prepare(attempt.target);
  return prepared instanceof Promise ? prepared.then(made) : made(prepared);
}

/** What decides who reads a conversation's answer. */
interface ReaderFacts {
  /** The client wants a stream. */
  stream: boolean;
  includeUsage: boolean;
  inputTokensEstimate: number;
}

/** Who reads an answer of this type. `onGiven` hears of ids that a conversation gives out. */
function readerFor(
  { stream, includeUsage, inputTokensEstimate }: ReaderFacts,
  body: Pick<EncodedBody, 'answer' | 'streamed' | 'unwrapTool' | 'callersToolNames'>,
  dialect: UpstreamDialect,
  contentType: string,
  { onGiven, usageOf }: Pick<PassingOptions, 'onGiven' | 'usageOf'>,
): AnswerReader {
  // Some servers answer a stream where a whole answer was asked, and the other way round: believe what came.
  const comesStreamed = contentType === '' ? body.streamed : contentType.startsWith('text/event-stream');
  const passes = body.answer === 'pass-through';
  if (passes && comesStreamed === stream) {
    const options = { onGiven, inputTokensEstimate, usageOf };
    return stream
      ? new PassedStream(dialect, includeUsage ? 'show' : 'hide', options)
      : new PassedWhole(dialect, options);
  }
  if (passes && comesStreamed && dialect.gatherWhole !== undefined) {
    return new GatheredStream(dialect, dialect.gatherWhole(), { onGiven, inputTokensEstimate });
  }
  const options = { unwrapTool: body.unwrapTool, usageOf };
  const source = comesStreamed ? new StreamedSource(dialect, options) : new WholeSource(dialect, options);
  const { callersToolNames } = body;
  return new ConvertedAnswer(source, { inputTokensEstimate, onGiven, callersToolNames });
}
