import { type Failure, type FailureFacts, factsOf } from '../kernel/failure.ts';
import { STATUS_CODES } from '../kernel/node-http.ts';
import type { Exchange, Route } from './exchange.ts';
import { refusalOf } from './refusal-of.ts';

/**
 * Codex, opencode and Anthropic's SDK obey any Retry-After, and seem to hang for as long. A limit of calls or tokens per
 * minute is free again after little more than 60 s: those waits, the commonest, are told.
 */
const retryAfterMaxMs = 120_000;
/** Above this an unread body is not worth draining for the sake of the connection. */
const drainBytesMax = 1024 * 1024;

/** Answers with a failure in the route's dialect; a no-op when headers are out already. */
export function writeFailure(
  exchange: Omit<Exchange, 'client'>,
  failure: Failure,
  dialect: Route['dialect'],
  nowMs: number,
  extraHeaders: readonly string[] = [],
): void {
  const { response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const facts = factsOf(failure, nowMs);
  if (exchange.admitted?.booked !== true) exchange.onRefused(refusalOf(exchange, failure, facts, nowMs));
  const body = Buffer.from(JSON.stringify(dialect.errorBody(failure, exchange.requestId, nowMs)));
  const headers = [
    ...identityHeaders(exchange),
    'content-type',
    'application/json',
    'content-length',
    String(body.length),
    ...retryHeaders(failure, facts, nowMs),
    ...(facts.quota?.headers ?? extraHeaders),
  ];
  if (facts.status === 401) headers.push('www-authenticate', 'Bearer');
  if (failure.kind === 'method-not-allowed') headers.push('allow', failure.allowed.join(', '));
  if (failure.kind === 'upgrade-required') headers.push('upgrade', 'HTTP/1.1');
  // Who has not sent all of a body by now would hold the connection for as long again.
  if (failure.kind === 'request-timeout' || hasLargeUnreadBody(exchange)) headers.push('connection', 'close');
  response.writeHead(facts.status, headers);
  response.end(exchange.request.method === 'HEAD' ? undefined : body);
}

/** The ids every answer carries (design §6). */
export function identityHeaders(exchange: Pick<Exchange, 'requestId' | 'clientRequestId'>): string[] {
  const shown = exchange.clientRequestId ?? exchange.requestId;
  return ['x-culvert-request-id', exchange.requestId, 'x-request-id', shown, 'request-id', shown];
}

function retryHeaders(failure: Failure, { status, retryable, retryAfterMs }: FailureFacts, nowMs: number): string[] {
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
  return status < 500 ? ['x-should-retry', 'false'] : [];
}

function hasLargeUnreadBody({ request, dropsBody }: Pick<Exchange, 'request' | 'dropsBody'>): boolean {
  // A caller who is still sending would see the reset and not the answer.
  if (dropsBody) return false;
  if (request.complete || request.method === 'GET' || request.method === 'HEAD') return false;
  const length = request.headers['content-length'];
  return length === undefined ? request.headers['transfer-encoding'] !== undefined : Number(length) > drainBytesMax;
}

/** For what is not even a request that node could read: a bare answer on the socket, then close. */
export function rawFailure(failure: Failure, dialect: Route['dialect'], requestId: string, nowMs: number): string {
  const { status } = factsOf(failure, nowMs);
  const body = JSON.stringify(dialect.errorBody(failure, requestId, nowMs));
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `x-culvert-request-id: ${requestId}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-should-retry: false',
    // RFC 9110 §15.5.22: a 426 names what it would speak.
    ...(failure.kind === 'upgrade-required'
      ? ['upgrade: HTTP/1.1', 'connection: upgrade, close']
      : ['connection: close']),
  ];
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}
