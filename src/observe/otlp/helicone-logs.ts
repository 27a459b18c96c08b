import { names } from './semantic-conventions.ts';
import { type ReadSpan, readSpans } from './span-reader.ts';
import type { AttributeValue } from './span-writer.ts';

/** One call of Helicone's custom logs, as its documentation of manual loggers has it. */
export interface HeliconeLog {
  providerRequest: {
    url: 'custom-model-nopath';
    json: { model: string; stream?: boolean; messages?: readonly HeliconeMessage[] };
    meta: Record<string, string>;
  };
  providerResponse: { headers: Record<string, string>; status: number; json: Record<string, unknown> };
  timing: { startTime: HeliconeTime; endTime: HeliconeTime; timeToFirstToken?: number };
}

interface HeliconeTime {
  seconds: number;
  milliseconds: number;
}

interface HeliconeMessage {
  role: string;
  content: string;
}

/** Helicone shows a call without an answer as one that the server refused. */
const statusWithoutAnswer = 503;

/** The attempts of a batch as logs. Helicone takes no OTLP and knows no other spans than calls of models. */
export function heliconeLogs(batch: Uint8Array): HeliconeLog[] {
  const spans = readSpans(batch);
  // A request ends right after its last attempt: mostly both are in one batch.
  const requests = new Map(
    spans.filter(({ attributes }) => names.requestId in attributes).map((span) => [span.traceId, span.attributes]),
  );
  return spans
    .filter(({ attributes }) => names.operation in attributes)
    .map((span) => logOf(span, requests.get(span.traceId) ?? {}));
}

type Attributes = Readonly<Record<string, AttributeValue>>;

function logOf({ attributes, startMs, endMs, error }: ReadSpan, request: Attributes): HeliconeLog {
  const model = String(attributes[names.requestModel] ?? '');
  const input = messagesOf(attributes[names.inputMessages], 'user');
  const firstTokenSeconds = attributes[names.timeToFirstChunk];
  const failed = attributes[names.errorType];
  return {
    providerRequest: {
      url: 'custom-model-nopath',
      json: {
        model,
        ...(attributes[names.requestStream] === true && { stream: true }),
        ...(input.length > 0 && { messages: input }),
      },
      meta: metaOf(attributes, request),
    },
    providerResponse: {
      headers: {},
      status: Number(attributes[names.status] ?? (failed === undefined ? 200 : statusWithoutAnswer)),
      json:
        failed === undefined
          ? { model: String(attributes[names.responseModel] ?? model), ...answerOf(attributes) }
          : { error: { type: String(failed), message: error ?? '' } },
    },
    timing: {
      startTime: timeOf(startMs),
      endTime: timeOf(endMs),
      ...(typeof firstTokenSeconds === 'number' && { timeToFirstToken: Math.round(firstTokenSeconds * 1_000) }),
    },
  };
}

/** Choices and usage in OpenAI's form, which Helicone counts tokens by. */
function answerOf(attributes: Attributes): Record<string, unknown> {
  const [inputTokens, outputTokens] = [attributes[names.inputTokens], attributes[names.outputTokens]];
  const finishes = attributes[names.finishReasons];
  const choices = messagesOf(attributes[names.outputMessages], 'assistant').map((message, index) => ({
    index,
    message,
    finish_reason: Array.isArray(finishes) ? (finishes[index] ?? null) : null,
  }));
  return {
    ...(choices.length > 0 && { choices }),
    ...(typeof inputTokens === 'number' &&
      typeof outputTokens === 'number' && {
        usage: {
          prompt_tokens: inputTokens,
          completion_tokens: outputTokens,
          total_tokens: inputTokens + outputTokens,
        },
      }),
  };
}

/** Helicone reads users, sessions and properties from here. */
function metaOf(attributes: Attributes, request: Attributes): Record<string, string> {
  const meta = {
    'Helicone-User-Id': request[names.userId],
    'Helicone-Session-Id': attributes[names.conversationId],
    'Helicone-Property-Provider': attributes[names.upstream],
    'Helicone-Property-Endpoint': attributes[names.endpoint],
    'Helicone-Property-Account': request[names.account],
    'Helicone-Property-Tag': request[names.tag],
    'Helicone-Property-Request': request[names.requestId],
  };
  return Object.fromEntries(
    Object.entries(meta).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

/** Texts of the conventions' messages, which have parts. Such as were cut, and are no JSON, become one message. */
function messagesOf(written: AttributeValue | undefined, role: 'user' | 'assistant'): HeliconeMessage[] {
  if (typeof written !== 'string') return [];
  try {
    const messages = JSON.parse(written) as { role: string; parts: readonly { content?: unknown }[] }[];
    return messages.map(({ role, parts }) => ({
      role,
      content: parts.flatMap(({ content }) => (typeof content === 'string' ? [content] : [])).join('\n'),
    }));
  } catch {
    return [{ role, content: written }];
  }
}

function timeOf(ms: number): HeliconeTime {
  return { seconds: Math.floor(ms / 1_000), milliseconds: ms % 1_000 };
}
