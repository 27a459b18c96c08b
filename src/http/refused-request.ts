import { matchesGlob } from '../books/auth/model-glob.ts';
import type { Principal } from '../books/auth/principal.ts';
import { type Refusal, type RefusedBy, refusalMessageMax } from '../books/metering/refusal.ts';
import type { Failure } from '../kernel/failure.ts';
import { type FailureFacts, factsOf } from '../kernel/failure-facts.ts';
import { STATUS_CODES } from '../kernel/web/node-http.ts';
import type { Exchange, Route } from './exchange.ts';

/**
 * Codex, opencode and Anthropic's SDK obey any Retry-After, and seem to hang for as long. A limit of calls or tokens
 * per minute is free again after little more than 60 s: those waits, the commonest, are in the header.
 */
const retryAfterMaxMs = 120_000;

/** The refusal of a request that gets this failure before anything was held for it. */
export function refusalOf(
  exchange: Omit<Exchange, 'client'>,
  failure: Failure,
  facts: FailureFacts,
  nowMs: number,
): Refusal {
  const { requestId, clientRequestId, atMs, route, principal, admitted, params, trace } = exchange;
  return {
    ...whatFailed(failure, facts),
    requestId,
    // A look-up of a request that is still running carries its id at times, and must not be found in its place.
    clientRequestId: clientRequestId === params.id ? null : clientRequestId,
    atMs,
    ms: Math.max(0, nowMs - atMs),
    account: principal?.account ?? '',
    keyId: principal?.run?.keyId ?? principal?.keyId ?? '',
    tenant: principal?.tenant ?? '',
    endpoint: route === null ? '' : (route.endpoint ?? route.path),
    model: admitted?.requestedModel || modelOf(failure),
    by: refusedBy(failure, principal),
    traceId: trace?.id ?? null,
  };
}

/** For bytes that were not a request. */
export function rawRefusal(requestId: string, failure: Failure, nowMs: number): Refusal {
  return {
    ...whatFailed(failure, factsOf(failure, nowMs)),
    requestId,
    clientRequestId: null,
    atMs: nowMs,
    ms: 0,
    account: '',
    keyId: '',
    tenant: '',
    endpoint: '',
    model: '',
    by: null,
    traceId: null,
  };
}

function whatFailed(failure: Failure, { status, message }: FailureFacts) {
  return {
    status,
    reason: failure.kind,
    limit: failure.kind === 'quota-exceeded' ? failure.limit : '',
    message: message.slice(0, refusalMessageMax),
  };
}

function refusedBy(failure: Failure, principal: Principal | null): RefusedBy | null {
  switch (failure.kind) {
    case 'guard-blocked':
    case 'guard-unanswered':
      return { kind: 'guard', name: failure.guard };
    case 'rule-refused':
      return { kind: 'rule', name: failure.rule };
    case 'no-target':
    case 'upstreams-limited':
      return { kind: 'model', name: failure.model };
    case 'quota-exceeded':
      return principal && ofPlanOrKey(principal, failure.ofKey ?? false);
    case 'model-not-in-plan':
      return principal && ofPlanOrKey(principal, isOutside(principal.allowedModels, failure.model));
    default:
      return null;
  }
}

function ofPlanOrKey({ plan, keyId }: Principal, isOfKey: boolean): RefusedBy {
  return isOfKey ? { kind: 'key', name: keyId } : { kind: 'plan', name: plan };
}

function isOutside(globs: readonly string[] | null, model: string): boolean {
  return globs !== null && !globs.some((glob) => matchesGlob(glob, model));
}

/** Cut to 256 characters where it was made. */
function modelOf(failure: Failure): string {
  return failure.kind === 'model-unknown' || failure.kind === 'model-not-in-plan' ? failure.model : '';
}

/** Whether and when to try again, in the header of every client. */
export function retryHeaders(
  failure: Failure,
  { status, retryable, retryAfterMs }: FailureFacts,
  nowMs: number,
): string[] {
  if (retryAfterMs !== null && retryAfterMs > retryAfterMaxMs) {
    return ['x-should-retry', 'false', 'x-culvert-retry-at', new Date(nowMs + retryAfterMs).toISOString()];
  }
  if (retryable) {
    const waitMs = retryAfterMs ?? 1_000;
    return [
      'x-should-retry',
      'true',
      'retry-after',
      String(Math.max(1, Math.ceil(waitMs / 1_000))),
      // The others' wait is a guess, which a number of ms would pretend not to be.
      ...(failure.kind === 'no-target' ? ['retry-after-ms', String(Math.ceil(waitMs))] : []),
    ];
  }
  if (status === 429 && retryAfterMs !== null) {
    return ['retry-after', String(Math.ceil(retryAfterMs / 1_000)), 'retry-after-ms', String(Math.ceil(retryAfterMs))];
  }
  // A place is free as soon as another request ends: no instant is known, and the next try may well pass.
  if (failure.kind === 'quota-exceeded' && failure.limit === 'concurrency') {
    return ['x-should-retry', 'true', 'retry-after', '1'];
  }
  return status < 500 || failure.kind === 'upstreams-failed' ? ['x-should-retry', 'false'] : [];
}

/** For bytes that node could not even read as a request: a bare answer on the socket, then close. */
export function rawFailure(failure: Failure, dialect: Route['dialect'], requestId: string, nowMs: number): string {
  const { status } = factsOf(failure, nowMs);
  const body = JSON.stringify(dialect.errorBody(failure, { requestId, nowMs }));
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `x-culvert-request-id: ${requestId}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-should-retry: false',
    // RFC 9110 §15.5.22: a 426 names the protocol that it wants.
    ...(failure.kind === 'upgrade-required'
      ? ['upgrade: HTTP/1.1', 'connection: upgrade, close']
      : ['connection: close']),
  ];
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}
