import type { AnswerHead, CallerDialect, DecodeOptions, DialectId } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { PassedAnswers, Plan, PlannedRequest } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import { PassedStream, type PassedTaker, PassedWhole } from '../../spine/pass-through.ts';
import type { AttemptSink, Bytes } from '../../spine/sink.ts';
import type { AnswerPlace, KeepingSteps, PassedReading } from '../../spine/steps/after.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { ConvertedAnswer, StreamedSource } from './converted-answer.ts';

/* Answers in their caller's own format that are kept as the bytes that came. A request without a cache enters nothing here. */

/** The sink for such an answer, and what takes its bytes once its `Content-Type` is known. */
export function storingPassedBytes<C>(
  keeping: KeepingSteps,
  next: AttemptSink,
  place: AnswerPlace<C>,
  dialect: DialectId,
  { stream, choices, ...facts }: Pick<ConversationFacts, 'stream' | 'needs' | 'echo'> & { choices: number },
): { sink: AttemptSink; takerOf(contentType: string): PassedTaker } {
  const { inputTokensEstimate } = facts.needs;
  const form = { dialect, streamed: stream, contentType: '', choices, inputTokensEstimate, settings: echoKey(facts) };
  const { answer, job } = place;
  const { usageOf } = job.providers.get(answer.attempt.target.provider)?.connection.provider ?? {};
  const sink = keeping.passed(next, place, readingOf(form, usageOf));
  const takerOf = (contentType: string) => {
    form.contentType = contentType;
    return sink;
  };
  return { sink, takerOf };
}

/** `callers`: their format, whose further members they get. Absent: of nobody. */
function readingOf(
  form: PassedReading['form'],
  usageOf: DecodeOptions['usageOf'],
  callers?: DecodeOptions['callers'],
): PassedReading {
  const { choices, inputTokensEstimate } = form;
  const dialect = dialects[form.dialect];
  const options = { unwrapTool: undefined, usageOf, choices, callers };
  return {
    form,
    stream: () => new ConvertedAnswer(new StreamedSource(dialect, options, form.contentType), { inputTokensEstimate }),
    whole(value) {
      const source = { push: () => [], finish: () => dialect.decodeWhole(value, options) };
      const reader = new ConvertedAnswer(source, { inputTokensEstimate });
      const events = reader.finish();
      return reader.fault === null ? events : null;
    },
  };
}

/**
 * How answers are given that were kept as bytes. `modelOf`: the name of their model; undefined: their own.
 * `clientIn`: the vendor whose client it is, to which no stream of another service goes on as it came, nor a whole answer
 * to OpenRouter's.
 */
export function passedAnswers(
  callers: CallerDialect,
  modelOf: (plan: Plan, facts: ConversationFacts) => string | undefined,
  idPrefix: string,
  clientIn: (headers: Job['callerHeaders']) => AnswerHead['clientOf'],
): PassedAnswers<ConversationBody, Plan> {
  const typeOf = ({ snapshot }: PlannedRequest<unknown, Plan>, provider: string) =>
    snapshot.providers.get(provider)?.connection.provider;
  return {
    events(planned, provider, form, bytes) {
      const reading = readingOf(form, typeOf(planned, provider)?.usageOf, callers.id);
      if (!form.streamed) return reading.whole(JSON.parse(bytes.toString('utf8')));
      const reader = reading.stream();
      const events = [...(reader.push(bytes) ?? []), ...(reader.finish() ?? [])];
      return reader.fault === null ? events : null;
    },
    again(planned, provider, form, bytes) {
      const { facts } = planned.request;
      const { dialect, streamed, contentType, choices, inputTokensEstimate } = form;
      if (dialect !== callers.id || streamed !== facts.stream || form.settings !== echoKey(facts)) return null;
      const type = typeOf(planned, provider);
      const client = dialect === 'openai-chat' ? clientIn(planned.call.callerHeaders) : undefined;
      if ((streamed ? client !== undefined : client === 'openrouter') && client !== type?.id) return null;
      const name = modelOf(planned.plan, facts);
      return {
        id: idPrefix + planned.call.requestId.slice(4),
        like: `${facts.includeUsage} ${name ?? ''}`,
        bytes() {
          const answerModel = name === undefined ? undefined : { dialect: callers.id, name };
          const options = { usageOf: type?.usageOf, answerModel, contentType, choices, inputTokensEstimate };
          const reader = streamed
            ? new PassedStream(callers, facts.includeUsage ? 'show' : 'hide', options)
            : new PassedWhole(callers, options);
          // The next call may write over the bytes of this one.
          const pieces = [copied(reader.push(bytes)), copied(reader.finish())];
          return reader.fault === null ? Buffer.concat(pieces) : null;
        },
      };
    },
  };
}

/** Parts of a request that its answer must follow, without the estimate of its size. */
function echoKey({ echo }: Pick<ConversationFacts, 'echo'>): string {
  return echo === undefined ? '' : JSON.stringify({ ...echo, inputTokens: null });
}

const copied = (bytes: Bytes | null): Buffer => Buffer.from(bytes ?? '');
