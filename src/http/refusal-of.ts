import { type Failure, type FailureFacts, factsOf } from '../kernel/failure.ts';
import { type Refusal, refusalMessageMax } from '../metering/refusal.ts';
import type { Exchange } from './exchange.ts';

/** What is told of a request that gets this failure before anything was held for it. */
export function refusalOf(
  exchange: Omit<Exchange, 'client'>,
  failure: Failure,
  facts: FailureFacts,
  nowMs: number,
): Refusal {
  const { requestId, clientRequestId, atMs, route, principal, admitted, params } = exchange;
  return {
    ...whatFailed(failure, facts),
    requestId,
    // A look-up of a request that is still running carries its id at times, and must not be found in its place.
    clientRequestId: clientRequestId === params.id ? null : clientRequestId,
    atMs,
    ms: Math.max(0, nowMs - atMs),
    account: principal?.account ?? '',
    keyId: principal?.keyId ?? '',
    tenant: principal?.tenant ?? '',
    endpoint: route === null ? '' : (route.endpoint ?? route.path),
    model: admitted?.asked || modelOf(failure),
  };
}

/** Of bytes that were no request. */
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

/** Cut to 256 characters where it was made. */
function modelOf(failure: Failure): string {
  return failure.kind === 'model-unknown' || failure.kind === 'model-not-in-plan' ? failure.model : '';
}
