import type { OutcomeClass } from '../neutral/outcome.ts';
import type { OpenReason } from './breaker.ts';

const coolingMinMs = 1_000;
const coolingMaxMs = 5 * 60_000;
/** A 429 that does not say how long. */
const coolingDefaultMs = 5_000;

/** Ms to leave a rate-limited credential alone: what the upstream asked, within 1 s and 5 min. */
export function coolingMs(retryAfterMs: number | null): number {
  if (retryAfterMs === null || Number.isNaN(retryAfterMs)) return coolingDefaultMs;
  return Math.min(coolingMaxMs, Math.max(coolingMinMs, retryAfterMs));
}

/** Until when a credential cools after one more 429; an earlier, longer cooling stays. */
export function cooledUntilMs(untilMs: number, retryAfterMs: number | null, nowMs: number): number {
  return Math.max(untilMs, nowMs + coolingMs(retryAfterMs));
}

/** Why one answer of a class rests the model with the credential that was asked; null for classes that do not. */
export function restOf(outcome: OutcomeClass): OpenReason | null {
  switch (outcome) {
    case 'quota_exhausted':
      return 'quota exhausted';
    case 'bad_credential':
      return 'bad credential';
    case 'model_unavailable':
      return 'model unavailable';
    case 'region_blocked':
      return 'region blocked';
    default:
      return null;
  }
}

/** What an end says of the upstream's own health; `neutral` ones leave it alone. */
export function verdictOn(outcome: OutcomeClass): 'ok' | 'failed' | 'neutral' {
  switch (outcome) {
    case 'ok':
      return 'ok';
    case 'unreachable':
    case 'transient':
    case 'stall_first_token':
    case 'stall_idle':
    case 'truncated':
    case 'malformed':
      return 'failed';
    default:
      return 'neutral';
  }
}
