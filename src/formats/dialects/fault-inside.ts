import { isObject, isWhole, type JsonValue } from '../../kernel/json.ts';
import type { Fault, FaultClass } from '../neutral/outcome.ts';
import type { UpstreamError } from './dialect.ts';

/** The part of an upstream's error code that callers get. */
export const codeForCallers = /^[a-z][\w.-]{1,63}$/i;

/**
 * Fault of an error inside an answer with status 200, such as a frame of a stream. `body` is the object that holds it.
 * Its status decides as that of an answer would: a 4xx that the prompt caused is the caller's.
 */
export function faultInside(
  body: unknown,
  error: UpstreamError,
  classOf: (status: number, error: UpstreamError) => FaultClass,
): Fault {
  const status = reportedStatus(body);
  return {
    class: classOf(status ?? 200, error),
    status,
    message: error.message,
    ...(codeForCallers.test(error.code) && { code: error.code }),
    ...(error.param !== null && { param: error.param }),
    ...(error.members !== undefined && { members: error.members }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  };
}

/** The status that the answer should have had: Groq, OpenRouter, Google and others repeat it in the error. */
function reportedStatus(body: unknown): number | null {
  const holder: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(holder)) return null;
  for (const candidate of isObject(holder.error) ? [holder.error, holder] : [holder]) {
    for (const value of [candidate.status_code, candidate.code, candidate.status]) {
      const status = statusIn(value);
      if (status !== null) return status;
    }
    // OpenAI's word for every 400, in addition to codes that are new each year.
    if (candidate.type === 'invalid_request_error') return 400;
  }
  return null;
}

function statusIn(value: JsonValue | undefined): number | null {
  const status = typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : value;
  return isWhole(status, 400, 599) ? status : null;
}
