import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';

/** How an attempt can end badly (design §8). Routing and health read `class`; people read `message`. */
export interface Fault {
  class: FaultClass;
  /** The upstream's HTTP status; null when none came. */
  status: number | null;
  /** Without secrets or upstream URLs. */
  message: string;
  /** The upstream's own word for it, such as `context_length_exceeded`. */
  code?: string;
  /** Field that the upstream blamed, when it said so. */
  param?: string | null;
  /** Further members of its error, under the vendor's names. */
  members?: JsonObject;
  /** It is the prompt's length. */
  tooLong?: TooLong;
  /** For `caller_fault`: its model lacks what was asked for, which another may have. */
  lacks?: true;
  /** Ms the upstream asked us to wait, already clamped. */
  retryAfterMs?: number | null;
  /** Headers of the refusal with the limits of the caller's credential: name, value, … */
  callersLimits?: readonly string[];
  /** The refusal of a step of this gateway, which its caller gets as it is. */
  failure?: Failure;
}

/** Tokens that a prompt had, and those that the model takes; null: not given. */
export interface TooLong {
  sent: number | null;
  most: number | null;
}

/** The taxonomy of design §8: what routing, breakers and cooldowns act on. An attempt ends in exactly one class. */
export type FaultClass =
  | 'caller_fault'
  /** A content filter refused the prompt. Where its model says so (`on_filter`), the next target is asked. */
  | 'filtered'
  /** The prompt does not fit there. Another target may have more room. */
  | 'too_long'
  | 'rate_limited'
  | 'quota_exhausted'
  | 'bad_credential'
  | 'model_unavailable'
  | 'region_blocked'
  /** The upstream refused the caller's own credential, or what it may use: it says nothing of those of others. */
  | 'caller_credential'
  /** No connection came to be: refused, timed out, DNS, TLS. */
  | 'unreachable'
  | 'transient'
  | 'stall_first_token'
  | 'stall_idle'
  | 'truncated'
  | 'malformed'
  | 'cancelled'
  | 'deadline'
  /** Trouble of this machine, such as a converter that died. Neutral for health; the next target may need none of it. */
  | 'gateway_fault'
  /**
   * Found out only now: this target cannot do what the request asks. Neutral for health, not counted as an attempt. Of
   * an encoder that cannot say it in the target's dialect, the route goes on with targets of another dialect.
   */
  | 'not_capable'
  /** Whole, and found wanting by a check of its model (`quality`): the next target is asked. */
  | 'low_quality';

export type OutcomeClass = 'ok' | FaultClass;

/** A fault of ours to tell of; `status` is the upstream's, null when none came. */
export function fault(faultClass: FaultClass, message: string, status: number | null = null): Fault {
  return { class: faultClass, status, message };
}

const messageCharsMax = 500;

/** Words for an answer that a provider withheld, from its word and its message about that. */
export function withheldBecause(word: string, message: JsonValue | undefined): string {
  const why = typeof message === 'string' && message !== '' ? `: ${message.slice(0, messageCharsMax)}` : '';
  return `The provider withheld the answer (${word.slice(0, 64)})${why}${why.endsWith('.') ? '' : '.'}`;
}
