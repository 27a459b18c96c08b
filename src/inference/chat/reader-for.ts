import type { UpstreamDialect } from '../dialects/dialect.ts';
import type { AnswerReader } from '../spine/answer-reader.ts';
import type { EncodedBody } from '../spine/encode-forwarded.ts';
import { type OnGiven, PassedStream, PassedWhole } from '../spine/pass-through.ts';
import { ConvertedAnswer, StreamedSource, WholeSource } from './converted.ts';
import { GatheredStream } from './gathered-stream.ts';

/** What decides who reads a conversation's answer. */
export interface ReaderFacts {
  /** The client wants a stream. */
  stream: boolean;
  includeUsage: boolean;
  inputTokensEstimate: number;
}

/** Who reads an answer of this type. `onGiven` hears of ids that a conversation gives out. */
export function readerFor(
  { stream, includeUsage, inputTokensEstimate }: ReaderFacts,
  body: Pick<EncodedBody, 'answer' | 'streamed' | 'unwrapTool' | 'callersToolNames'>,
  dialect: UpstreamDialect,
  contentType: string,
  onGiven?: OnGiven,
): AnswerReader {
  // Some servers answer a stream where a whole answer was asked, and the other way round: believe what came.
  const comesStreamed = contentType === '' ? body.streamed : contentType.startsWith('text/event-stream');
  const passes = body.answer === 'pass-through';
  if (passes && comesStreamed === stream) {
    const options = { onGiven, inputTokensEstimate };
    return stream
      ? new PassedStream(dialect, includeUsage ? 'show' : 'hide', options)
      : new PassedWhole(dialect, options);
  }
  if (passes && comesStreamed && dialect.gatherWhole !== undefined) {
    return new GatheredStream(dialect, dialect.gatherWhole(), { onGiven, inputTokensEstimate });
  }
  const options = body.unwrapTool === undefined ? undefined : { unwrapTool: body.unwrapTool };
  const source = comesStreamed ? new StreamedSource(dialect, options) : new WholeSource(dialect, options);
  const { callersToolNames } = body;
  return new ConvertedAnswer(source, { inputTokensEstimate, onGiven, callersToolNames });
}
