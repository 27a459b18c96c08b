import type { Failure } from '../../kernel/failure.ts';
import type { Target } from '../routing/target.ts';
import { type Answer, StreamedAnswer, WholeAnswer } from '../spine/answer.ts';
import { Attempt } from '../spine/attempt.ts';
import type { AttemptParts, Job } from '../spine/job.ts';
import type { OnGiven } from '../spine/pass-through.ts';
import type { AttemptSink, Chunk } from '../spine/sink.ts';
import type { PreparedConversation } from './prepare.ts';
import { type ReaderFacts, readerFor } from './reader-for.ts';

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
    const taker = facts.stream ? new StreamedAnswer(answer, prepared) : new WholeAnswer(answer, prepared);
    const body = {
      bytes: prepared.bytes,
      streamed: prepared.streamed,
      upstreamDialect,
      inputTokensEstimate: facts.inputTokensEstimate,
      reader: (contentType: string, onGiven?: OnGiven) =>
        readerFor(facts, prepared, upstreamDialect, contentType, onGiven),
    };
    return new Attempt(parts, job, attempt, body, sinkOf(taker as AttemptSink));
  };
  const prepared = prepare(attempt.target);
  return prepared instanceof Promise ? prepared.then(made) : made(prepared);
}
