import type { BucketRow } from '../ledger/batch-sums.ts';
import type { ReservationRow } from '../ledger/columns.ts';
import type { CalendarPeriod, SpanName } from './window.ts';

export type { BucketRow } from '../ledger/batch-sums.ts';

/**
 * The ledger is the truth and counters are derived from it: what starts empty (a process, Redis) is seeded from it and
 * admits then.
 *
 * What is counted, always in whole numbers: `calls` in milli-calls (a vector call is 50), `units` in milli-units,
 * `tokens` in tokens, `usd` in nano-USD.
 */
export type Measure = 'calls' | 'units' | 'tokens' | 'usd';

/**
 * Owner of a shared count: `a:<account>`, `k:<tenant>`, and with a tier `a:<account>#<tier>`, `k:<tenant>#<tier>`
 * (`scopesOf` in counter-scope.ts makes them). `b:<account>/…` is an end user, tag or model, and `c:<account>` counts what
 * the account's credit pays, without an end. All scopes of one request belong to one account.
 */
export type Scope = string;

/** One limit that applies to a request. */
export interface Limit {
  /**
   * Name in a 429: `5h`, `week`, `month`, `minute`, `free`, `tier:<name>:5h`, `tier:<name>:rpm`, `tokens:month`,
   * `budget:week`, `budget:month@Europe/Berlin`, `budget:user:month`,
   * `credit`…
   */
  id: string;
  scope: Scope;
  measure: Measure;
  span: SpanName;
  /** Counts what was spent since the period began, of the hours of `month`; absent: within the span. Only of USD. */
  period?: CalendarPeriod;
  /** Counts all that was ever spent, whatever the span. Only of USD, in `creditScope`. */
  isForEver?: true;
  /** In the measure's whole numbers; `Infinity` when only the usage is asked for (GET /v1/usage). */
  allowed: number;
  /** `exact`: passes while used + cost ≤ allowed. `post-paid`: while used < allowed (tokens and USD, known afterwards). */
  rule: 'exact' | 'post-paid';
  /** From so much on a request is warned, and passes; absent: never. */
  soft?: number;
  /** The end user, tag or model of an account whose budget it is; absent: all of them. */
  part?: { kind: 'user' | 'tag' | 'model'; value: string };
}

/** State of a limit: its use, and what is left. */
export interface LimitState {
  /** Whole number of the measure. Includes the cost of this request once it is admitted. */
  used: number;
  /** Wall-clock ms at which the oldest counted bucket leaves, or the period ends; null when nothing is counted. */
  leavesAtMs: number | null;
}

/** Before the body: one call, against calls a minute and places. */
export interface Entry {
  requestId: string;
  account: string;
  callMilli: number;
  /** All of measure `calls`, span `minute`. */
  limits: readonly Limit[];
  /** Running requests, by scope. `endless` is no limit: they count in one that is set while they run. */
  places: readonly { id: string; scope: Scope; allowed: number }[];
}

export type EntryAnswer =
  | {
      kind: 'entered';
      states: readonly LimitState[];
      /** Gives the places back. Idempotent, never throws. */
      leave(): void;
    }
  | Full
  | Unavailable;

/** After the model: what a request will cost, against every limit at once, all or nothing. */
export interface Hold {
  requestId: string;
  account: string;
  /** Counted here whatever the limits are, so that a new plan finds complete windows. */
  scopes: readonly Scope[];
  /** Milli-units. */
  costMilli: number;
  /** Limits of any measure. Those of `calls` (a tier's rpm) take 1,000 milli-calls. */
  limits: readonly Limit[];
  /** List into which a driver may write the answer's states, instead of a new one: they are read immediately. */
  states?: LimitState[];
  /** Row that the ledger gets if it is held. Counters in the process of the ledger open it too. */
  row?: ReservationRow;
}

/** Units held for a running request. */
export interface Held extends Pick<Hold, 'requestId' | 'account' | 'scopes' | 'costMilli'> {
  kind: 'held';
  /** Time of the bucket that has the units, ms since the epoch by the counters' clock. It goes into the ledger. */
  quotaMs: number;
  /** One for each of the hold's limits, in order. */
  states: readonly LimitState[];
  /** Monotonic ms: a reservation that is in the ledger later is refused, since counters may have begun anew from it. */
  bookByMs?: number;
}

/** A limit is reached: nothing was counted. */
export interface Full {
  kind: 'full';
  /** `id` of the limit that frees last. */
  limit: string;
  scope: Scope;
  used: number;
  allowed: number;
  /** Wall-clock ms of the first instant at which all limits would let this request pass; null: never, or unknown. */
  freeAtMs: number | null;
}

/** The counters cannot be asked: admission fails closed. */
export interface Unavailable {
  kind: 'unavailable';
  /** For the caller's message: no host names, no secrets. */
  reason: string;
}

/** Result of a request. */
export interface Spent {
  /** Held milli-units that are kept. The others go back to their bucket, while it exists. */
  costMilli: number;
  tokens: number;
  usdNano: number;
}

/** Amounts that a settled request gets back later, because what it paid for never came. */
export interface Returned extends Pick<Hold, 'account' | 'scopes' | 'costMilli'>, Spent {
  /** Times of the buckets that have the units, and the tokens and the USD, as in the ledger. */
  quotaMs: number;
  settledMs: number;
}

/**
 * The port of the counters. Drivers: metering/memory-counters (one process) and stores/redis (many). Answers may come
 * at once or later. A driver that can, answers at once (no promise), because every request waits for it.
 */
export interface Counters {
  enter(entry: Entry): EntryAnswer | Promise<EntryAnswer>;
  hold(hold: Hold): Held | Full | Unavailable | Promise<Held | Full | Unavailable>;
  /** Ends a hold; only the first call for a request counts. Never throws, never waits. */
  settle(held: Held, spent: Spent): void;
  /** Takes this back where it still counts. What is not loaded comes from the ledger. Never throws, never waits. */
  giveBack(returned: Returned): void;
  /** States of these limits. Counts nothing. Rejects with FailureError `quota-unavailable`. */
  read(account: string, limits: readonly Limit[]): Promise<readonly LimitState[]>;
  /** Running requests of each scope. Shared counters know those of this process alone where nothing limits them. */
  running(account: string, scopes: readonly Scope[]): Promise<readonly number[]>;
  /** Why nothing can be admitted right now, in words for the operator; null when it can. */
  trouble(): string | null;
  close(): Promise<void>;
}

/**
 * Past use in the ledger, for counters that start empty: the buckets of settled requests, which the ledger writes in
 * the same commit as the usage event. Open reservations of other processes come separately, each with its id.
 */
export interface QuotaBooks {
  /** Settled use of these scopes within the longest span. */
  buckets(scopes: readonly Scope[]): Promise<readonly BucketRow[]> | readonly BucketRow[];
  /** Calls of the last 60 s as requests that came to a reservation show them; refused ones are not known. */
  recentCalls(account: string, sinceMs: number): Promise<readonly RecentCall[]> | readonly RecentCall[];
  /**
   * Everything that shared counters need to begin an account anew, as of one instant: settled buckets of `scopes`, all
   * open reservations of the account, and the settled ones among the requests `openIds`, which those counters hold as
   * running (id → milli-units kept). A request is in exactly one of the three, so nothing is counted twice and nothing
   * is forgotten.
   */
  seed(account: string, scopes: readonly Scope[], openIds: readonly string[]): Promise<QuotaSeed>;
}

/** See `QuotaBooks.seed`. */
export interface QuotaSeed {
  buckets: readonly BucketRow[];
  open: readonly ReservationRow[];
  settled: ReadonlyMap<string, number>;
}

export interface RecentCall {
  atMs: number;
  tenant: string;
  tier: string | null;
  /** Decides its weight (`callMilliIn` in counter-scope.ts). */
  endpoint: string;
}
