import { type Failure, type FailureFacts, factsOf } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';

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

function quotaMembers({ quota, retryAfterMs }: FailureFacts): JsonObject {
  if (quota === null) return {};
  return {
    limit: quota.limit,
    ...(quota.window !== null && { window: quota.window }),
    used: quota.used,
    allowed: quota.allowed,
    resets_at: quota.freeAtMs === null ? null : new Date(quota.freeAtMs).toISOString(),
    retry_after_ms: retryAfterMs,
  };
}
