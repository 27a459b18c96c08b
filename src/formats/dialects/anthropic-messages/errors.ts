import { type ErrorContext, type Failure, guardBlockedCode } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Fault, FaultClass } from '../../neutral/outcome.ts';
import { classOfStatus } from '../class-of-status.ts';
import type { UpstreamError } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { membersOf, errorBody as openAiErrorBody } from '../openai-chat/errors.ts';

/**
 * The body of an error answer: the same `error` as everywhere, in the wrapping without which Anthropic's clients show
 * only the status (clients.md §5).
 */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const { error } = openAiErrorBody(failure, context) as { error: JsonObject };
  const message = promptTooLong(failure, error.message as string);
  if (message !== null) error.message = message;
  // Anthropic's SDK reads the word for what to do from here.
  if (failure.kind === 'not-found' && failure.code !== undefined) error.details = { error_code: failure.code };
  if (failure.kind === 'guard-blocked') error.details = { error_code: guardBlockedCode };
  return { type: 'error', error, request_id: context.requestId };
}

/**
 * The last frame of a broken stream. No message_stop follows: a cut answer must not look like a finished one. Once text
 * has come, Claude Code asks again for `api_error` and `overloaded_error` alone; `code` tells a 429 too.
 */
export function errorFrame(failure: Failure, context: ErrorContext): string {
  const body = errorBody(failure, context);
  const error = body.error as JsonObject;
  const isLimit = failure.kind === 'upstreams-failed' && error.type === 'rate_limit_error';
  const known = isLimit || error.type === 'upstream_error' ? { ...body, error: { ...error, type: 'api_error' } } : body;
  return `event: error\ndata: ${JSON.stringify(known)}\n\n`;
}

/*
 * Claude Code makes its conversation shorter when it reads `prompt is too long: N tokens > M maximum`, and takes any
 * other wording for a fault of its request, which it then repeats six times (clients.md §1b).
 */

/** The message in Anthropic's wording when `failure` says that the input does not fit; null when it says else. */
export function promptTooLong(failure: Failure, message: string): string | null {
  if (failure.kind !== 'upstream-refused' || failure.tooLong === undefined) return null;
  const { sent, most } = failure.tooLong;
  if (sent === null || most === null) return `prompt is too long: ${message}`;
  return `prompt is too long: ${sent} tokens > ${most} maximum`;
}

const messageCharsMax = 2_000;

/**
 * Reads `{type: "error", error: {type, message}}`, and what imitating servers send: no outer type, a bare string
 * as error, a `message` or `detail` alone. `code` is `error.details.error_code` where there is one (spend limits), else its type.
 */
export function readError(body: unknown): UpstreamError | null {
  if (!isObject(body)) return null;
  const error = body.error;
  if (typeof error === 'string') return { message: error.slice(0, messageCharsMax), code: '', param: null };
  if (!isObject(error)) {
    if (body.type !== 'error' && Array.isArray(body.content)) return null;
    const text = typeof body.message === 'string' ? body.message : body.detail;
    if (typeof text === 'string') return { message: text.slice(0, messageCharsMax), code: '', param: null };
    return body.type === 'error' ? { message: 'The error has no description.', code: '', param: null } : null;
  }
  const details = isObject(error.details) ? error.details.error_code : undefined;
  const code = typeof details === 'string' ? details : typeof error.type === 'string' ? error.type : '';
  const message = typeof error.message === 'string' ? error.message.slice(0, messageCharsMax) : '';
  return {
    message: message || code || 'The error has no description.',
    code,
    param: blamedField(message),
    ...membersOf(error),
  };
}

/** Anthropic's validation messages begin with the field: `tools.0.custom.input_schema.type: Field required`. */
function blamedField(message: string): string | null {
  const field = /^([a-z][\w]*(?:\.[\w-]+)*): /.exec(message.slice(0, 200))?.[1];
  return field?.replace(/\.(\d+)(?=\.|$)/g, '[$1]') ?? null;
}

/** The fault of an error event inside a stream, or of an error body inside a 200: no HTTP status speaks for it. */
export function faultOfError(body: JsonObject): Fault {
  const error = readError(body) ?? { message: 'The error has no description.', code: '', param: null };
  const fault = faultInside(body, error, classOfAnthropicError);
  return { ...fault, status: fault.status ?? statusByType.get(error.code) ?? null };
}

/** Status of faults that may pass later, which no status says inside a stream (Anthropic's API reference "Errors"). */
const statusByType: ReadonlyMap<string, number> = new Map([
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

const classByCode: ReadonlyMap<string, FaultClass> = new Map([
  ['overloaded_error', 'transient'],
  ['api_error', 'transient'],
  ['timeout_error', 'transient'],
  ['rate_limit_error', 'rate_limited'],
  ['billing_error', 'quota_exhausted'],
  ['enforced_spend_limit_reached', 'quota_exhausted'],
  ['authentication_error', 'bad_credential'],
  ['request_too_large', 'too_long'],
  ['conflict_error', 'caller_fault'],
  // Clients replay the conversation, or go on without a thread.
  ['thread_not_found', 'caller_fault'],
  ['thread_already_continued', 'caller_fault'],
  ['thread_continue_in_flight', 'caller_fault'],
  ['thread_fingerprint_mismatch', 'caller_fault'],
  ['thread_unsupported_request', 'caller_fault'],
]);

/**
 * Class of an Anthropic error by HTTP status and error type (Anthropic's API reference "Errors"). `status` 200 means
 * an error inside a successful answer, where the type alone decides.
 */
export function classOfAnthropicError(status: number, error: UpstreamError | null): FaultClass {
  const code = error?.code ?? '';
  const message = error?.message ?? '';
  if (spent.test(message)) return 'quota_exhausted';
  switch (code) {
    case 'invalid_request_error':
      // Anthropic uses this type for any 4xx without a type: then the status says more.
      if (status !== 200 && status !== 400) return classBy(status, message);
      return disabled.test(message) ? 'bad_credential' : 'caller_fault';
    case 'not_found_error':
      return classBy(404, message);
    case 'permission_error':
      return classBy(403, message);
    default:
      return classByCode.get(code) ?? classBy(status, message);
  }
}

const spent = /credit balance is too low|specified api usage limits|spend(?:ing)? limit/i;
const disabled = /organization has been disabled|api key (?:is )?(?:invalid|disabled)/i;
const aboutModel = /\bmodel\b/i;
const aboutRegion = /unsupported (?:country|region)|not (?:available|supported) in your (?:country|region|location)/i;
const aboutContent = /\bfile\b|\bcontainer\b/i;

function classBy(status: number, message: string): FaultClass {
  const isAboutModel = aboutModel.test(message);
  if (status === 403 && aboutRegion.test(message)) return 'region_blocked';
  if (status === 403 && isAboutModel) return 'model_unavailable';
  // A file that the body names is the caller's to fix; anything else unknown is this target's model or path.
  if (status === 404 && aboutContent.test(message) && !isAboutModel) return 'caller_fault';
  return classOfStatus(status);
}
