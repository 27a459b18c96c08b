import type { Principal } from '../auth/principal.ts';
import type { Failure } from '../kernel/failure.ts';

/**
 * The port between requests and plans. Part 1 grants everything and keeps the books; limits (part 2) change what
 * stands behind it, not who calls it.
 */
export interface Admission {
  /** Before the body is read: requests per minute and concurrency. */
  admit(principal: Principal, weight: AdmitWeight): Promise<Admitted | Failure> | Admitted | Failure;
  /** After the model is known and before routing: tier limits and windows, all or nothing. */
  reserve(claim: Claim): Promise<Reservation | Failure>;
}

/** How much of requests-per-minute a call takes; `exempt` also skips concurrency. */
export type AdmitWeight = 'one' | 'vector' | 'exempt';

/** Let in: holds a place among the key's running requests. */
export interface Admitted {
  kind: 'admitted';
  /** Limit headers for the answer, written at commit: flat name, value… */
  headers: readonly string[];
  /** Gives concurrency back. Idempotent; must be called in `finally`. */
  release(): void;
}

/** What a request asks of its plan. `atMs` is wall-clock time of arrival. */
export interface Claim {
  requestId: string;
  principal: Principal;
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
  /** Limit headers as they stand after this reservation: flat name, value… */
  headers: readonly string[];
  /** `open` when granted; settlement alone moves it, once. */
  state: 'open' | 'settled';
}
