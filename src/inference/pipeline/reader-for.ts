import type { AnswerReader } from './answer-reader.ts';
import { ConvertedAnswer, StreamedSource, WholeSource, withCallersToolNames } from './converted.ts';
import type { Job, PreparedBody } from './job.ts';
import { GatheredWhole, type OnGiven, PassedStream, PassedWhole, UnlikeAnswer } from './pass-through.ts';

/** Who reads an answer of this type for this job. `onGiven` hears of ids that a conversation gives out. */
export function readerFor(
  job: Pick<Job, 'stream' | 'includeUsage' | 'sink' | 'inputTokensEstimate'>,
  body: PreparedBody,
  contentType: string,
  onGiven?: OnGiven,
): AnswerReader {
  const { stream, includeUsage } = job;
  const dialect = body.upstreamDialect;
  if (body.answerReader !== undefined) return body.answerReader(contentType);
  // Some servers answer a stream where a whole answer was asked, and the other way round: believe what came.
  const comesStreamed = contentType === '' ? body.streamed : contentType.startsWith('text/event-stream');
  if (body.endpoint === 'embeddings') return comesStreamed ? new UnlikeAnswer(stream) : new GatheredWhole();
  if (body.forwarded !== undefined) {
    if (comesStreamed !== stream) return new UnlikeAnswer(stream);
    const { inputTokensEstimate } = job;
    return stream
      ? new PassedStream(body.forwarded, includeUsage ? 'show' : 'hide', { inputTokensEstimate })
      : new PassedWhole(body.forwarded, { inputTokensEstimate });
  }
  if (body.answer === 'pass-through' && comesStreamed === stream) {
    const options = { onGiven, inputTokensEstimate: job.inputTokensEstimate };
    return stream
      ? new PassedStream(dialect, includeUsage ? 'show' : 'hide', options)
      : new PassedWhole(dialect, options);
  }
  const options = body.unwrapTool === undefined ? undefined : { unwrapTool: body.unwrapTool };
  const source = comesStreamed ? new StreamedSource(dialect, options) : new WholeSource(dialect, options);
  const sink = withCallersToolNames(job.sink(), body.callersToolNames);
  return new ConvertedAnswer(source, sink, job.inputTokensEstimate, onGiven);
}
