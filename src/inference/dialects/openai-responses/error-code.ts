import type { Failure, FailureFacts } from '../../../kernel/failure.ts';

/** Waits up to this are told with Retry-After (design §6); a client that is told the quota is spent would not wait. */
const shortWaitMs = 60_000;

const tooLong =
  /context[_ ](?:length|window|size)|its context holds|maximum context|(?:prompt|input|request) is too long|too many (?:input )?tokens|exceeds? the (?:model's )?(?:context|maximum (?:number of )?tokens)/i;

/** The string that clients act on: OpenAI's own words where it has one for the case. */
export function errorCode(failure: Failure, facts: FailureFacts): string {
  switch (failure.kind) {
    case 'quota-exceeded':
      if (failure.limit === 'minute' || failure.limit === 'free' || failure.limit === 'concurrency')
        return 'rate_limit_exceeded';
      return facts.retryAfterMs !== null && facts.retryAfterMs <= shortWaitMs
        ? 'rate_limit_exceeded'
        : 'insufficient_quota';
    case 'upstream-refused':
      if (tooLong.test(failure.message)) return 'context_length_exceeded';
      return failure.code ?? 'invalid_request_error';
    case 'invalid-request':
      return tooLong.test(failure.message) ? 'context_length_exceeded' : 'invalid_request_error';
    case 'model-unknown':
    case 'model-not-in-plan':
      return 'model_not_found';
    case 'unauthenticated':
      return 'invalid_api_key';
    case 'forbidden':
      return 'permission_denied';
    case 'upstreams-failed':
    case 'internal':
    case 'no-target':
    case 'overloaded':
    case 'quota-unavailable':
      return 'server_error';
    default:
      return facts.type;
  }
}
