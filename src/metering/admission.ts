import type { Principal } from '../auth/principal.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Held, LimitState } from './counters.ts';

/**
 * The port between requests and plans. Answers without a promise where the counters do: it stands on every request's
 * way. Books fail closed: what cannot be counted or written within 250 ms of our own loop's turns (decision 0013) is 503
 * and never dispatched. A request is held against all its limits at once, or none; its tokens and USD are known and
 * counted at settlement.
 */
export interface Admission {
  /** Before the body is read: requests per minute and concurrency. */
  admit(principal: Principal, weight: AdmitWeight, arrival: Arrival): Promise<Admitted | Failure> | Admitted | Failure;
  /** After the model is known and before routing: tier limits and windows, all or nothing. */
  reserve(claim: Claim): Promise<Reservation | Failure> | Failure;
}

/**
 * How much of requests-per-minute a call takes (`milliPerCall`). `free`: what costs no units and runs at no provider for
 * long, such as models, usage, count_tokens; it takes no place among the running requests either.
 */
export type AdmitWeight = 'one' | 'vector' | 'free';

/** Whose own limit headers an answer carries beside the IETF's. */
export type LimitHeaderForm = 'openai' | 'anthropic';

export interface Arrival {
  requestId: string;
  form: LimitHeaderForm;
}

/** Let in: holds a place among the key's running requests. */
export interface Admitted {
  kind: 'admitted';
  /** Limit headers for an answer that comes before any reservation: flat name, value… */
  readonly headers: readonly string[];
  /** How full the limits of calls a minute were on entry, for the headers of the reservation. */
  readonly calls: readonly LimitState[];
  readonly form: LimitHeaderForm;
  /** The model that `reserve` was asked for. */
  asked?: string;
  /** Set by `reserve`: the ledger tells of this request, however it ends. */
  booked?: boolean;
  /** Gives concurrency back. Idempotent; must be called in `finally`. */
  release(): void;
}

/** What a request asks of its plan. `atMs` is wall-clock time of arrival. */
export interface Claim {
  requestId: string;
  principal: Principal;
  admitted: Admitted;
  endpoint: string;
  alias: string;
  tier: string | null;
  costMilli: number;
  inputTokensEstimate: number;
  atMs: number;
}

/** Quota held for a running request; settlement ends it. */
export interface Reservation {
  kind: 'reserved';
  requestId: string;
  costMilli: number;
  /** What the counters hold for it. */
  held: Held;
  /** All limit headers of the answer, those of its admission included: flat name, value… */
  headers: readonly string[];
  /** `open` when granted; settlement alone moves it, once. */
  state: 'open' | 'settled';
}
