import type { FailureFacts } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** What an error of OpenAI's formats says of a reached limit, so that its caller can act on it. */
export function quotaMembers({ quota, retryAfterMs }: FailureFacts): JsonObject {
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
