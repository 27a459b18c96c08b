import type { ReservationRow, UsageEvent } from './ledger.ts';

/**
 * The event of a request whose process died before it was settled: charged what it held, tokens as estimated. Nobody
 * knows what the caller saw; never 0, never twice (faults.md F38).
 */
export function crashedEvent(reservation: ReservationRow): UsageEvent {
  return {
    requestId: reservation.requestId,
    clientRequestId: null,
    atMs: reservation.atMs,
    account: reservation.account,
    keyId: reservation.keyId,
    tenant: reservation.tenant,
    endpoint: reservation.endpoint,
    alias: reservation.alias,
    tier: reservation.tier,
    quotaMs: reservation.quotaMs,
    // Nobody knows when; its own instant keeps it out of windows it had left.
    settledMs: reservation.quotaMs,
    target: null,
    status: 500,
    class: 'crashed',
    stream: false,
    aborted: true,
    ms: 0,
    firstTokenMs: null,
    inputTokens: reservation.inputTokensEstimate,
    outputTokens: 0,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    characters: 0,
    audioMs: 0,
    images: 0,
    costMilli: reservation.costMilli,
    costUsd: null,
    usageSource: 'estimated',
    user: null,
    route: { alias: reservation.alias, verdicts: [], attempts: [], losses: [], passThrough: false },
  };
}
