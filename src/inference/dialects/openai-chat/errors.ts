import { type Failure, factsOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { quotaMembers } from '../quota-members.ts';

/**
 * The body of an error answer: OpenAI's shape with the HTTP status as `code`, and for a reached limit the facts that
 * a caller can act on. `nowMs` is wall-clock time.
 */
export function errorBody(failure: Failure, requestId: string, nowMs: number): JsonObject {
  const facts = factsOf(failure, nowMs);
  return {
    error: {
      message: facts.message,
      type: facts.type,
      code: facts.status,
      param: facts.param,
      request_id: requestId,
      ...quotaMembers(facts),
    },
  };
}

/** The last frame of a broken stream. No [DONE] follows: a cut answer must not look like a finished one. */
export function errorFrame(failure: Failure, requestId: string, nowMs: number): string {
  return `data: ${JSON.stringify(errorBody(failure, requestId, nowMs))}\n\n`;
}
