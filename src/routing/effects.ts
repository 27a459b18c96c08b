import type { OutcomeClass } from '../formats/neutral/outcome.ts';
import type { OpenReason } from './breaker.ts';

/** Effects of an attempt's end on the health of its lane and on a route that goes on. */
export interface EndEffect {
  /** For the upstream's own health; `neutral` ones leave it alone. */
  health: 'ok' | 'failed' | 'neutral';
  /** Why the model rests with the credential that was asked; null: it does not. */
  rest: OpenReason | null;
  /** The upstream was heard of: it is not silent. */
  responded: boolean;
  /** Another credential of the same target is another choice. */
  ofCredential: boolean;
  /** Factor for the hope of one more attempt of the request at the target. */
  repeatHope: number;
}

const neutral: EndEffect = { health: 'neutral', rest: null, responded: true, ofCredential: false, repeatHope: 0.8 };
const unheard: EndEffect = { ...neutral, responded: false };
const failed: EndEffect = { ...neutral, health: 'failed' };
const silent: EndEffect = { ...failed, responded: false, repeatHope: 0.1 };

export const effects: Readonly<Record<OutcomeClass, EndEffect>> = {
  ok: { ...neutral, health: 'ok' },
  caller_fault: neutral,
  caller_credential: neutral,
  filtered: neutral,
  too_long: neutral,
  rate_limited: { ...neutral, ofCredential: true },
  quota_exhausted: { ...neutral, ofCredential: true, rest: 'quota exhausted' },
  bad_credential: { ...neutral, ofCredential: true, rest: 'bad credential' },
  model_unavailable: { ...neutral, rest: 'model unavailable' },
  region_blocked: { ...neutral, rest: 'region blocked' },
  unreachable: silent,
  transient: failed,
  stall_first_token: silent,
  stall_idle: silent,
  truncated: failed,
  malformed: failed,
  cancelled: unheard,
  deadline: unheard,
  gateway_fault: unheard,
  not_capable: unheard,
  low_quality: { ...neutral, health: 'ok' },
};
