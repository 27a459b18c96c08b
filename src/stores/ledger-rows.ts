import type { BookedRequest, ReservationRow, UsageEvent, UsageRoute } from '../metering/ledger.ts';
import { attemptsOf } from './attempt-json.ts';

/** A row of `usage_event`. */
export function eventOf(row: Record<string, unknown>): UsageEvent {
  return {
    ...bookedOf(row),
    clientRequestId: textOrNull(row.client_request_id),
    settledMs: Number(row.settled_ms),
    target: textOrNull(row.target),
    status: Number(row.status),
    class: String(row.class),
    stream: row.stream === 1,
    aborted: row.aborted === 1,
    ms: Number(row.ms),
    firstTokenMs: numberOrNull(row.first_token_ms),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cachedInputTokens: Number(row.cached_input_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    characters: Number(row.characters),
    audioMs: Number(row.audio_ms),
    images: Number(row.images),
    costUsd: numberOrNull(row.cost_usd),
    usageSource: String(row.usage_source),
    user: textOrNull(row.user),
    route: {
      ...(JSON.parse(String(row.route)) as Omit<UsageRoute, 'attempts'>),
      attempts: attemptsOf(String(row.attempts)),
    },
  };
}

/** A row of `reservation`. */
export function reservationOf(row: Record<string, unknown>): ReservationRow {
  return {
    ...bookedOf(row),
    bootId: String(row.boot_id),
    inputTokensEstimate: Number(row.input_tokens_estimate),
  };
}

function bookedOf(row: Record<string, unknown>): BookedRequest {
  return {
    requestId: String(row.request_id),
    atMs: Number(row.at_ms),
    account: String(row.account),
    keyId: String(row.key_id),
    tenant: String(row.tenant),
    endpoint: String(row.endpoint),
    alias: String(row.alias),
    tier: textOrNull(row.tier),
    quotaMs: Number(row.quota_ms),
    costMilli: Number(row.cost_milli),
  };
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
