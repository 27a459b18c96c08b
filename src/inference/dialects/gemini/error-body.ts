import { type Failure, factsOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';

const words: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
};

const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;

/** The body of an error answer as Google's clients read it: google.rpc.Status, with what a caller can act on. */
export function errorBody(failure: Failure, requestId: string, nowMs: number): JsonObject {
  const { status, message, param, quota, retryAfterMs, type: reason } = factsOf(failure, nowMs);
  const details: JsonObject[] = [
    {
      '@type': type('ErrorInfo'),
      reason: reason.toUpperCase(),
      domain: 'culvert',
      metadata: { request_id: requestId },
    },
  ];
  if (param !== null) {
    details.push({ '@type': type('BadRequest'), fieldViolations: [{ field: param, description: message }] });
  }
  if (quota !== null) {
    const { limit, used, allowed } = quota;
    const violation = { subject: limit, description: `${used} of ${allowed} used` };
    details.push({ '@type': type('QuotaFailure'), violations: [violation] });
  }
  if (retryAfterMs !== null) {
    details.push({ '@type': type('RetryInfo'), retryDelay: `${Math.ceil(retryAfterMs / 1_000)}s` });
  }
  return {
    error: {
      code: status,
      message,
      status: words[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
      details,
    },
  };
}

/** The last frame of a broken stream: no candidate of it has told why it stopped. */
export function errorFrame(failure: Failure, requestId: string, nowMs: number): string {
  return `data: ${JSON.stringify(errorBody(failure, requestId, nowMs))}\r\n\r\n`;
}
