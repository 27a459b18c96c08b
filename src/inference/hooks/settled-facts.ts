import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { HookSettled } from '../../hooks/hook-types.ts';

/** A settled request as hooks see it. */
export function settledFacts(event: UsageEvent, plan: string): HookSettled {
  return {
    requestId: event.requestId,
    endpoint: event.endpoint,
    model: event.alias === '' ? null : event.alias,
    caller: { account: event.account, plan, keyId: event.keyId },
    target: event.target,
    status: event.status,
    outcome: event.class,
    stream: event.stream,
    ms: event.ms,
    firstTokenMs: event.firstTokenMs,
    attempts: event.route.attempts.length,
    inputTokens: event.inputTokens,
    outputTokens: event.outputTokens,
    costUsd: event.costUsd,
    user: event.user,
    tag: event.tag,
  };
}
