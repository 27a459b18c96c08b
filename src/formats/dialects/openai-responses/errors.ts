import { errorUrlOf } from '../../../kernel/error-topic.ts';
import { type ErrorContext, type Failure, guardBlockedCode } from '../../../kernel/failure.ts';
import { type FailureFacts, factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject, objectIn } from '../../../kernel/json.ts';
import type { Fault } from '../../neutral/outcome.ts';
import type { StreamMark, UpstreamError } from '../dialect.ts';
import { faultInside as faultOf } from '../fault-inside.ts';
import {
  errorBody as chatErrorBody,
  classOfError,
  isOpenRouters,
  readError as readChatError,
  tooLongCode,
  vendorMembers,
} from '../openai-chat/errors.ts';
import { frameOf } from './answer-events.ts';
import { callersWord } from './read-request.ts';
import { responseObject, saltOf } from './response-object.ts';

/** The error in a body: OpenAI's shapes as everywhere, that of a failed response, and a stream's bare `error` event. */
export function readError(body: unknown): UpstreamError | null {
  if (isObject(body) && body.object === 'response') {
    if (isObject(body.error)) return readChatError({ error: body.error });
    return body.status === 'failed' || body.status === 'cancelled'
      ? { message: `the response is ${body.status}`, code: 'server_error', param: null }
      : null;
  }
  if (isObject(body) && body.type === 'error' && !isObject(body.error)) {
    const { code, message, param } = body;
    return readChatError({ error: { code: code ?? 'server_error', message: message ?? '', param: param ?? null } });
  }
  return readChatError(body);
}

/** Fault of an error inside a successful answer; `body` holds one. */
export function faultInside(body: JsonObject): Fault {
  const error = readError(body) ?? { message: 'an error without a description', code: 'server_error', param: null };
  return faultOf(body, error, classOfError);
}

/**
 * The body of an error answer: as everywhere, except for `code`, which is a string here. Codex loses the message of an
 * integer one, and acts on the words (clients.md §2, §9).
 */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const facts = factsOf(failure, context.nowMs);
  // Others find faults by the words of chat: an upstream, or the filter of targets that are able.
  const param = facts.param !== null && { param: callersWord(facts.param, () => []) };
  const code = isOpenRouters(context) ? facts.status : errorCode(failure, facts);
  return { error: { ...objectIn(chatErrorBody(failure, context).error), code, ...param } };
}

/**
 * Last frame of a stream that cannot go on. If nothing was sent, `response.created` comes before it, because OpenAI's
 * SDK refuses any other beginning. If something was, the id must be the one that was sent.
 */
export function errorFrame(failure: Failure, context: ErrorContext, mark?: StreamMark): string {
  const { requestId, nowMs, publicUrl } = context;
  const facts = factsOf(failure, nowMs);
  const parts = { code: errorCode(failure, facts), message: facts.message, members: vendorMembers(failure) };
  const state = { status: 'failed', ...parts } as const;
  const response = {
    id: mark?.id ?? `resp_${saltOf(requestId)}`,
    createdS: Math.floor(nowMs / 1_000),
    model: 'model' in failure ? failure.model : '',
    echo: undefined,
    output: [],
    usage: null,
  };
  // OpenAI's SDK throws on an `error` at the top alone: who only iterates would take the part for the whole.
  const { message, type } = facts;
  const error = JSON.stringify({ message, type, code: state.code, doc_url: errorUrlOf(failure, publicUrl) });
  const failed = (sequence: number) => {
    const object = JSON.stringify(responseObject(response, state));
    return frameOf('response.failed', sequence, `,"response":${object},"error":${error}`);
  };
  if (mark !== undefined) return failed(mark.sequence);
  const begun = JSON.stringify(responseObject(response, { status: 'in_progress' }));
  return frameOf('response.created', 0, `,"response":${begun}`) + failed(1);
}

/** Waits up to this get a Retry-After (design §6); a client that learns that the quota is spent would not wait. */
const shortWaitMs = 60_000;

/**
 * Words that are replaced by one of OpenAI's: at the first two Codex ends the turn, although another provider may
 * answer if it asks again. The last is Anthropic's for any fault of a server.
 */
const replaced: ReadonlySet<string> = new Set(['server_is_overloaded', 'slow_down', 'api_error']);

function wordOfBreak(code: string | undefined): string | undefined {
  return code !== undefined && replaced.has(code) ? undefined : code;
}

/** String that clients act on: OpenAI's words if it has one for the case. */
function errorCode(failure: Failure, facts: FailureFacts): string {
  switch (failure.kind) {
    case 'quota-exceeded':
      if (failure.limit === 'minute' || failure.limit === 'free' || failure.limit === 'concurrency')
        return 'rate_limit_exceeded';
      return facts.retryAfterMs !== null && facts.retryAfterMs <= shortWaitMs
        ? 'rate_limit_exceeded'
        : 'insufficient_quota';
    case 'upstream-refused':
      return failure.tooLong === undefined ? (failure.code ?? 'invalid_request_error') : tooLongCode;
    case 'invalid-request':
      return failure.code ?? 'invalid_request_error';
    case 'guard-blocked':
      return guardBlockedCode;
    case 'not-found':
      return failure.code ?? facts.type;
    case 'model-unknown':
    case 'model-not-in-plan':
      return 'model_not_found';
    case 'upstreams-limited':
      return 'rate_limit_exceeded';
    case 'unauthenticated':
      return 'invalid_api_key';
    case 'forbidden':
      return 'permission_denied';
    case 'rule-refused':
      return facts.status === 403 ? 'permission_denied' : facts.type;
    case 'upstreams-failed':
      return wordOfBreak(failure.reported?.code) ?? (facts.status === 429 ? 'rate_limit_exceeded' : 'server_error');
    case 'internal':
    case 'no-target':
    case 'overloaded':
    case 'quota-unavailable':
      return 'server_error';
    default:
      return facts.type;
  }
}
