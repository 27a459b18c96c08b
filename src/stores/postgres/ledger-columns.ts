import type { ReservationRow, UsageEvent, UsageRoute } from '../../metering/ledger.ts';
import { attemptsJson } from '../attempt-json.ts';
import type { Column } from './bulk-insert.ts';

export const reservationColumns: readonly Column<ReservationRow>[] = [
  ['request_id', 'text', (row) => row.requestId],
  ['boot_id', 'text', (row) => row.bootId],
  ['at_ms', 'bigint', (row) => Math.round(row.atMs)],
  ['account', 'text', (row) => row.account],
  ['key_id', 'text', (row) => row.keyId],
  ['tenant', 'text', (row) => row.tenant],
  ['endpoint', 'text', (row) => row.endpoint],
  ['alias', 'text', (row) => row.alias],
  ['cost_milli', 'bigint', (row) => row.costMilli],
  ['input_tokens_estimate', 'bigint', (row) => row.inputTokensEstimate],
  ['tier', 'text', (row) => row.tier],
  ['quota_ms', 'bigint', (row) => Math.round(row.quotaMs)],
];

export const eventColumns: readonly Column<UsageEvent>[] = [
  ['request_id', 'text', (event) => event.requestId],
  ['client_request_id', 'text', (event) => event.clientRequestId],
  ['at_ms', 'bigint', (event) => Math.round(event.atMs)],
  ['account', 'text', (event) => event.account],
  ['key_id', 'text', (event) => event.keyId],
  ['tenant', 'text', (event) => event.tenant],
  ['endpoint', 'text', (event) => event.endpoint],
  ['alias', 'text', (event) => event.alias],
  ['target', 'text', (event) => event.target],
  ['status', 'bigint', (event) => event.status],
  ['class', 'text', (event) => event.class],
  ['stream', 'bigint', (event) => (event.stream ? 1 : 0)],
  ['aborted', 'bigint', (event) => (event.aborted ? 1 : 0)],
  ['ms', 'bigint', (event) => Math.round(event.ms)],
  ['first_token_ms', 'bigint', (event) => (event.firstTokenMs === null ? null : Math.round(event.firstTokenMs))],
  ['input_tokens', 'bigint', (event) => event.inputTokens],
  ['output_tokens', 'bigint', (event) => event.outputTokens],
  ['cached_input_tokens', 'bigint', (event) => event.cachedInputTokens],
  ['reasoning_tokens', 'bigint', (event) => event.reasoningTokens],
  ['characters', 'bigint', (event) => event.characters],
  ['audio_ms', 'bigint', (event) => Math.round(event.audioMs)],
  ['images', 'bigint', (event) => event.images],
  ['cost_milli', 'bigint', (event) => event.costMilli],
  ['cost_usd', 'double precision', (event) => event.costUsd],
  ['usage_source', 'text', (event) => event.usageSource],
  ['user', 'text', (event) => event.user],
  ['route', 'text', (event) => routeJson(event.route)],
  ['tier', 'text', (event) => event.tier],
  ['quota_ms', 'bigint', (event) => Math.round(event.quotaMs)],
  ['settled_ms', 'bigint', (event) => Math.round(event.settledMs)],
  ['attempts', 'text', (event) => attemptsJson(event.route.attempts)],
];

function routeJson({ attempts: _, ...rest }: UsageRoute): string {
  return JSON.stringify(rest);
}
