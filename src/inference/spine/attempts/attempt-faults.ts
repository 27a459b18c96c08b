import type { UpstreamDialect, UpstreamError } from '../../../formats/dialects/dialect.ts';
import { codeForCallers } from '../../../formats/dialects/fault-inside.ts';
import { type Fault, type FaultClass, fault } from '../../../formats/neutral/outcome.ts';
import { classByText, classifyError, isOfModel, ruledClass } from '../../../formats/providers/classify.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import { scrub, scrubbedWord } from '../../../formats/providers/scrub.ts';
import { scrubMembers } from '../../../formats/providers/scrub-members.ts';
import { tooLongIn } from '../../../formats/providers/too-long-errors.ts';
import { parsedJson } from '../../../kernel/json.ts';
import { type ErrorBody, waitInBody } from '../../../routing/body-wait.ts';
import { effects } from '../../../routing/effects.ts';
import { coolingMs, explicitWaitMs, retryAfterMs } from '../../../routing/retry-after.ts';
import type { ExpiredTimer } from '../../../upstream/transport/timers.ts';
import type { TransportError } from '../../../upstream/transport/transport-error.ts';
import type { UpstreamHeaders } from '../../../upstream/transport/upstream-call.ts';

/** Time limits of an attempt, and their messages. */
export interface ExpiredLimits {
  firstTokenMs: number;
  idleMs: number;
  /** The request's, on the monotonic clock. */
  deadlineMs: number;
  /** Description of its silence, such as `sent no content`. */
  silence: string;
  /** Status of the upstream's answer; null if there was none. */
  status: number | null;
}

/** An attempt took too long. `nowMs` is the monotonic clock's. */
export function expiredFault(kind: ExpiredTimer, limits: ExpiredLimits, nowMs: number): Fault {
  const { firstTokenMs, idleMs, deadlineMs, silence, status } = limits;
  if (kind === 'first-token') return fault('stall_first_token', `${silence} within ${firstTokenMs / 1_000} s`, status);
  if (kind === 'idle') return fault('stall_idle', `went silent for ${idleMs / 1_000} s`, status);
  const overall = deadlineMs <= nowMs + 1;
  return fault(overall ? 'deadline' : 'stall_idle', 'did not finish within the total timeout', status);
}

/** The exchange broke. `begun`: within an answer. */
export function transportFault(
  { kind, message }: TransportError,
  { begun, status }: { begun: boolean; status: number | null },
): Fault {
  if (kind === 'not-authorized') return fault('bad_credential', message);
  if (kind.endsWith('-timeout') && kind !== 'connect-timeout') return fault('stall_idle', message, status);
  if (kind === 'decode' || kind === 'protocol') return fault('malformed', message, status);
  if (begun) return fault('truncated', message, status);
  const connected = kind !== 'connect' && kind !== 'connect-timeout' && kind !== 'dns' && kind !== 'tls';
  return fault(connected ? 'transient' : 'unreachable', message, status);
}

/** Fault of an answer without success: by its status, and by its body. `nowMs`: wall-clock time. */
export function statusFault(
  { status: answered, headers, body }: { status: number; headers: UpstreamHeaders | null; body: Buffer },
  dialect: Pick<UpstreamDialect, 'id' | 'readError'>,
  connection: ProviderConnection,
  nowMs: number,
): Fault {
  const error = errorOf(body.toString('utf8'), headers, dialect.readError);
  const status = error?.status ?? answered;
  const faultClass = classFor(connection, classifyError(connection.provider, status, error, dialect.id));
  return {
    class: faultClass,
    status,
    message: error?.message ? `answered ${status}: ${scrub(error.message, connection)}` : `answered ${status}`,
    ...shortErrorText(error ?? {}, connection),
    ...(error !== null && faultClass === 'too_long' && lengthOf(error, connection)),
    ...(error !== null && faultClass === 'caller_fault' && isOfModel(error) && { lacks: true }),
    ...(error?.members !== undefined && { members: scrubMembers(error.members, connection) }),
    retryAfterMs: requestedWait(faultClass, headers, error, nowMs),
  };
}

/** The error in a body: JSON, also as an event, or plain words, as servers in Rust write them. */
function errorOf(text: string, headers: UpstreamHeaders | null, readError: UpstreamDialect['readError']) {
  const [, data = text] = /^(?:event:.*\r?\n)?data:(.*)/.exec(text) ?? [];
  const isText = /^text\/plain/i.test(headers?.get('content-type') ?? '');
  const moved = 'a redirect, which is not followed; base_url must be the address that it leads to';
  const message = headers?.get('location') ? moved : isText ? text.trim() : '';
  return readError(parsedJson(data) ?? null) ?? (message === '' ? null : { message, code: '', param: null });
}

/** The class of a fault: one of a caller's own credential says nothing of the provider, nor of other callers. */
function classFor({ callers }: ProviderConnection, found: FaultClass): FaultClass {
  const { ofCredential, rest } = effects[found];
  return callers !== null && (ofCredential || rest !== null) ? 'caller_credential' : found;
}

/** Ms that the answer asks to wait, of a limit within those of a cooling; null: it does not say. */
function requestedWait(
  faultClass: FaultClass,
  headers: UpstreamHeaders | null,
  error: UpstreamError | null,
  nowMs: number,
): number | null {
  const bodyMs = error === null ? null : waitInBody(error, nowMs);
  if (faultClass === 'transient') return explicitWaitMs(headers, nowMs) ?? bodyMs;
  if (headers !== null) return retryAfterMs(headers, nowMs, bodyMs);
  return bodyMs === null ? null : coolingMs(bodyMs);
}

/** Fault inside an answer: by the provider's rules too, in words that callers may see. `nowMs`: wall-clock time. */
export function faultInAnswer(found: Fault, connection: ProviderConnection, nowMs: number): Fault {
  const { code = '', status, message, param = null } = found;
  const { provider } = connection;
  const reported = { code, message, param };
  const ruled = status === null ? null : ruledClass(provider, status, reported);
  const faultClass = classFor(connection, ruled ?? classByText(provider, found.class, status, reported));
  const mayWait = faultClass === 'rate_limited' || faultClass === 'caller_credential' || faultClass === 'transient';
  return {
    ...scrubbedFault(found, connection),
    class: faultClass,
    ...(faultClass === 'too_long' && lengthOf(reported, connection)),
    ...(mayWait && { retryAfterMs: found.retryAfterMs ?? waitInBody(bodyOf(found), nowMs) }),
  };
}

/** A fault in words that callers may see. */
export function scrubbedFault(found: Fault, connection: ProviderConnection): Fault {
  const { code: _code, param: _param, members, ...rest } = found;
  return {
    ...rest,
    ...shortErrorText(found, connection),
    message: scrub(found.message, connection),
    ...(members !== undefined && { members: scrubMembers(members, connection) }),
  };
}

function bodyOf({ message, members }: Fault): ErrorBody {
  return { message, ...(members !== undefined && { members }) };
}

/** The short words of an error, which may repeat a credential as its message may (S36). */
function shortErrorText(
  { code, param }: { code?: string; param?: string | null },
  connection: ProviderConnection,
): Pick<Fault, 'code' | 'param'> {
  const callersCode = code !== undefined && codeForCallers.test(code) ? scrubbedWord(code, connection) : null;
  return {
    param: param === undefined || param === null ? null : scrubbedWord(param, connection),
    ...(callersCode !== null && { code: callersCode }),
  };
}

function lengthOf(
  error: Pick<UpstreamError, 'code' | 'message'>,
  { provider }: ProviderConnection,
): Pick<Fault, 'tooLong'> {
  const tooLong = tooLongIn(provider, error);
  return tooLong === null ? {} : { tooLong };
}
