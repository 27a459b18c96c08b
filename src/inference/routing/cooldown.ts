import type { OutcomeClass } from '../neutral/outcome.ts';
import type { OpenReason } from './breaker.ts';

const coolingMinMs = 1_000;
const coolingMaxMs = 5 * 60_000;
/** A 429 that does not say how long. */
const coolingDefaultMs = 5_000;
export const trippedForMs = 5 * 60_000;

/** Ms to leave a rate-limited credential alone: what the upstream asked, within 1 s and 5 min. */
export function coolingMs(retryAfterMs: number | null): number {
  if (retryAfterMs === null || Number.isNaN(retryAfterMs)) return coolingDefaultMs;
  return Math.min(coolingMaxMs, Math.max(coolingMinMs, retryAfterMs));
}

/** Until when a credential cools after one more 429; an earlier, longer cooling stays. */
export function cooledUntilMs(untilMs: number, retryAfterMs: number | null, nowMs: number): number {
  return Math.max(untilMs, nowMs + coolingMs(retryAfterMs));
}

/** What one answer of a class shuts, beyond its own attempt. */
export interface Trip {
  /** The credential with every model of its provider, or the model with every credential. */
  scope: 'credential' | 'model';
  why: OpenReason;
}

const trips: Partial<Record<OutcomeClass, Trip>> = {
  quota_exhausted: { scope: 'credential', why: 'quota exhausted' },
  bad_credential: { scope: 'credential', why: 'bad credential' },
  model_unavailable: { scope: 'model', why: 'model unavailable' },
  // Blocked by law or by the vendor's map for this model: another credential would ask from the same place.
  region_blocked: { scope: 'model', why: 'region blocked' },
};

export function tripOf(outcome: OutcomeClass): Trip | null {
  return trips[outcome] ?? null;
}

/** What an end says of the upstream's own health; `neutral` ones leave its breaker alone. */
export function healthOf(outcome: OutcomeClass): 'ok' | 'failed' | 'neutral' {
  switch (outcome) {
    case 'ok':
      return 'ok';
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
