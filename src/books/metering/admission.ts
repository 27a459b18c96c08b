import type { Config } from '../../config/schema.ts';
import type { Price } from '../../formats/neutral/price.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Principal } from '../auth/principal.ts';
import type { SettledFacts, UsageOrigin } from '../ledger/settled-request.ts';
import type { Held, Limit, LimitState, Spent } from './counters.ts';
import type { UsageEvent } from './ledger.ts';
import type { LimitsLeft } from './limits/limits-left.ts';
import type { RequestParts } from './part-budgets.ts';

export type { Charge, UsageOrigin } from '../ledger/settled-request.ts';

/**
 * Port between requests and plans. It answers without a promise if the counters do, because every request passes it. A
 * request is refused if it cannot be counted or written within 250 ms of this process's own loop time (decision 0013):
 * it gets 503 and is never dispatched. A request is held against all of its limits, or against none. Its tokens and USD
 * are known and counted at settlement.
 */
export interface Admission {
  /** Before the body is read: requests per minute and concurrency. */
  admit(principal: Principal, weight: AdmitWeight, arrival: Arrival): Promise<Admitted | Failure> | Admitted | Failure;
  /** After the model is known and before routing: tier limits and windows, all or nothing. */
  reserve(claim: Claim): Promise<Reservation | Failure> | Failure;
  /** Shares that are left of a caller's fullest limits; null: the counters cannot be asked. */
  left(principal: Principal, parts: RequestParts): Promise<LimitsLeft | null>;
}

/**
 * Share of requests-per-minute that a call takes (`milliPerCall`). `free`: calls that cost no units and do not run long
 * at a provider, such as models, usage, count_tokens; they take no place among the running requests either. `message`:
 * calls that cost no units and take no place, but count as a request a minute, such as a message of MCP that calls
 * nothing.
 */
export type AdmitWeight = 'one' | 'vector' | 'free' | 'message';

/** Vendor whose limit headers an answer has, in addition to the IETF's. */
export type LimitHeaderForm = 'openai' | 'anthropic';

export interface Arrival {
  requestId: string;
  form: LimitHeaderForm;
  /**
   * Nobody waits for it: it leaves a quarter of every minute's limit to others, and takes no place among the running
   * requests of its key.
   */
  isSparing?: boolean;
}

/** Let in: holds a place among the key's running requests. */
export interface Admitted {
  kind: 'admitted';
  /** Limit headers for an answer that comes before any reservation: flat name, value… */
  readonly headers: readonly string[];
  /** States of the limits of calls a minute on entry, for the headers of the reservation. */
  readonly calls: readonly LimitState[];
  readonly form: LimitHeaderForm;
  /** Same as on arrival. */
  isSparing?: boolean;
  /** The provider has done it, or does it already: no limit refuses it any more. */
  isOwed?: boolean;
  /**
   * For lines that a provider answers within a day: what they and others before them will use, which nobody has counted
   * yet. It is taken from what tokens and USD have left, and no limit of a minute refuses them.
   */
  expected?: Pick<Spent, 'tokens' | 'usdNano'>;
  /** The model that `reserve` was asked for. */
  requestedModel?: string;
  /** Set by `reserve`: the ledger tells of this request, however it ends. */
  booked?: boolean;
  /** Gives concurrency back. Idempotent; must be called in `finally`. */
  release(): void;
}

/** Request to a plan. `reserve` sets `furtherScopes` where budgets within an account count it. */
export interface Claim extends Omit<SettledFacts['claim'], 'principal'> {
  principal: Principal;
  admitted: Admitted;
  /** The end user and tag that the body names, for budgets within an account; absent or null: none. */
  user?: string | null;
  tag?: string | null;
  /** Models that may answer in addition to `alias`, for budgets of models; absent: none. */
  furtherModels?: readonly string[];
  costMilli: number;
  inputTokensEstimate: number;
}

/** Quota held for a running request; settlement ends it. */
export interface Reservation {
  kind: 'reserved';
  requestId: string;
  costMilli: number;
  /** Amounts that the counters hold for it. */
  held: Held;
  /** All limit headers of the answer, those of its admission included: flat name, value… */
  headers: readonly string[];
  /** `open` when granted; settlement alone moves it, once. */
  state: 'open' | 'settled';
  /** Amounts that limits count of it before it is settled, since this wall-clock ms. Absent: it is held. */
  counted?: Spent & { atMs: number };
}

/** Progress of a request, which decides its cost. The pipeline sets one of these at its very end. */
export type Delivered =
  /** The answer went out whole. */
  | 'whole'
  /** Content went out, then the caller left or the upstream failed. */
  | 'partial'
  /** The caller left before any content, while or after an attempt was dispatched. The plan says what that costs. */
  | 'abandoned'
  /** Nothing went out because of an upstream, of us, of bad input, or the caller left before any dispatch. */
  | 'nothing';

/** Line of `costs` that a call is charged by, or the units that every one costs. */
export type CostLine = keyof Config['costs'] | number;

/** Facts of a request at its end, in the ledger's terms. Nothing here is checked again. */
export interface RequestFacts extends SettledFacts {
  claim: Claim;
  delivery: Delivered;
  /** The part of the reservation that was really done, if not all of it; in milli-units. */
  doneMilli?: number | undefined;
  price: Price | null;
  /** Usage of the attempt that answered; null if neither the upstream nor we could count. */
  usage: Usage | null;
  usageSource: UsageOrigin;
  /** Cost in USD of other models that took part, in addition to `usage` at `price`. */
  besideUsd: number;
}

/** Called once per settled reservation, before the books are closed: quota is given back here. */
export type Settled = (reservation: Reservation, spent: Spent, claim: Claim) => void;

/** Every reservation ends here. */
export interface Settlement {
  /** Work that its reservation waited for has begun: a crash charges it from here on. */
  began(reservation: Reservation, claim: Claim): void;
  /**
   * Ends a reservation: charges, gives back the rest, writes the usage event. Belongs in `finally`. Only the first
   * call for a reservation counts; later ones return null. Never throws and never waits. `in limits`: they count it as if
   * it ended so, and what it comes to less is given back when it is settled, which may be much later. Returns null.
   */
  settle(reservation: Reservation, facts: RequestFacts, end?: 'for good' | 'in limits'): UsageEvent | null;
}

/** Receives the state of each limit of a caller. */
export type ObserveLimits = (
  claim: Pick<Claim, 'principal' | 'tier'>,
  limits: readonly Limit[],
  states: readonly LimitState[],
) => void;
