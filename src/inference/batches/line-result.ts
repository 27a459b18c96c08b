import type { BatchFormat } from '../../books/metering/batch-store.ts';
import { anthropicMessages } from '../../formats/dialects/anthropic-messages/index.ts';
import { gemini } from '../../formats/dialects/gemini/index.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import { type ErrorContext, type Failure, statusOf } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import type { JsonObject } from '../../kernel/json.ts';

export type LineEnd =
  | { kind: 'answered'; status: number; body: Buffer }
  | { kind: 'refused'; failure: Failure }
  /** It was never asked: the line itself is wrong, or the batch ended before. */
  | { kind: 'unasked'; why: 'cancelled' | 'expired' | Failure };

/** A line of a file of results, as the vendor writes it, without its end. */
export function resultLine(
  format: BatchFormat,
  customId: string | null,
  end: LineEnd,
  context: ErrorContext,
): { state: 'succeeded' | 'errored'; text: string } {
  const state = end.kind === 'answered' && end.status < 300 ? 'succeeded' : 'errored';
  const text = lineIn[format](customId, end, context).replace(lineBreaks, escaped);
  return { state, text };
}

/** Python's `splitlines` ends a line at these too. JSON has them in strings alone. */
const lineBreaks = /[\u0085\u2028\u2029]/g;
const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;

const lineIn: Record<BatchFormat, (customId: string | null, end: LineEnd, context: ErrorContext) => string> = {
  openai: openAiLine,
  anthropic: anthropicLine,
  gemini: geminiLine,
};

function geminiLine(key: string | null, end: LineEnd, context: ErrorContext): string {
  const line = (member: string, text: string) => `{"key":${JSON.stringify(key)},"${member}":${text}}`;
  if (end.kind === 'answered' && end.status < 300) return line('response', oneLine(end.body));
  if (end.kind === 'unasked' && typeof end.why === 'string') {
    const [code, status] = end.why === 'cancelled' ? [1, 'CANCELLED'] : [4, 'DEADLINE_EXCEEDED'];
    return line('error', JSON.stringify({ code, message: neverSent[end.why], status }));
  }
  const { error } =
    end.kind === 'answered'
      ? (JSON.parse(end.body.toString('utf8')) as JsonObject)
      : gemini.errorBody(failureOf(end), context);
  return line('error', JSON.stringify(error ?? null));
}

function openAiLine(customId: string | null, end: LineEnd, context: ErrorContext): string {
  const { requestId } = context;
  const head = `{"id":${JSON.stringify(`batch_${requestId}`)},"custom_id":${JSON.stringify(customId)},`;
  if (end.kind === 'unasked') return `${head}"response":null,"error":${JSON.stringify(openAiError(end.why, context))}}`;
  const status = end.kind === 'answered' ? end.status : statusOf(end.failure);
  const body = end.kind === 'answered' ? oneLine(end.body) : JSON.stringify(openAiChat.errorBody(end.failure, context));
  return `${head}"response":{"status_code":${status},"request_id":"${requestId}","body":${body}},"error":null}`;
}

function openAiError(why: 'cancelled' | 'expired' | Failure, { nowMs }: ErrorContext): JsonObject {
  if (typeof why === 'object') return { code: 'invalid_request', message: factsOf(why, nowMs).message };
  return { code: `batch_${why}`, message: neverSent[why] };
}

const neverSent = {
  cancelled: 'This request was not executed, because the batch was cancelled.',
  expired: 'This request could not be executed before the completion window expired.',
};

function anthropicLine(customId: string | null, end: LineEnd, context: ErrorContext): string {
  const result = (text: string) => `{"custom_id":${JSON.stringify(customId)},"result":${text}}`;
  if (end.kind === 'unasked' && typeof end.why === 'string') {
    return result(end.why === 'cancelled' ? '{"type":"canceled"}' : '{"type":"expired"}');
  }
  if (end.kind === 'answered' && end.status < 300) return result(`{"type":"succeeded","message":${oneLine(end.body)}}`);
  const error =
    end.kind === 'answered' ? oneLine(end.body) : JSON.stringify(anthropicMessages.errorBody(failureOf(end), context));
  return result(`{"type":"errored","error":${error}}`);
}

function failureOf(end: Exclude<LineEnd, { kind: 'answered' }>): Failure {
  return end.kind === 'refused' ? end.failure : (end.why as Failure);
}

/** An upstream may write its JSON over many lines. */
function oneLine(body: Buffer): string {
  const text = body.toString('utf8');
  return text.includes('\n') || text.includes('\r') ? JSON.stringify(JSON.parse(text)) : text;
}
