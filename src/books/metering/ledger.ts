import type { ReservationRow, UsageEvent } from '../ledger/columns.ts';
import type { Repriced } from '../ledger/repricing.ts';
import type { AttemptQuery, AttemptSum, TrafficPoint, TrafficQuery } from '../ledger/traffic-queries.ts';
import type { ZoneDays } from '../ledger/zone-days.ts';
import type { QuotaBooks } from './counters.ts';
import type { ExperimentBook } from './experiments/experiment-book.ts';
import type { RecordStore } from './record-store.ts';
import type { StatementBook } from './statement-book.ts';

export type { BookedRequest, ReservationRow, UsageEvent } from '../ledger/columns.ts';
export type { UsageAttempt, UsageRoute } from '../ledger/settled-request.ts';
export type { TrafficPoint, TrafficQuery } from '../ledger/traffic-queries.ts';

/**
 * Port of the ledger. A reservation is written before the first attempt is dispatched. Exactly one usage event closes
 * it, and its commit also moves the quota buckets (`bucketsOf`) and the hourly roll-up. A reservation of a dead process
 * is charged once, at its estimate, by the process that removes its row. Drivers: stores/sqlite (ledger.db),
 * stores/postgres.
 */
export interface Ledger extends QuotaBooks {
  /**
   * Resolves once the row is committed; rejects with a FailureError `quota-unavailable` after 250 ms in which the
   * database said nothing, and at `byMs` (monotonic) in any case.
   */
  open(reservation: ReservationRow, byMs?: number): Promise<void>;
  /**
   * Closes the reservation and writes event and attempts in one commit. Fire and forget: what cannot be written is
   * retried in memory for 30 s, then stays open and is charged at its estimate by the next start.
   */
  close(event: UsageEvent): void;
  /**
   * Renames an open reservation that waited for its work, which has begun: from here on a crash charges it. Fire and
   * forget: where it cannot be written a crash charges nothing.
   */
  began(requestId: string, endpoint: string): void;
  /** Writes the record of a refused request, which counts nowhere. Given up silently where the books are away. */
  note(refused: UsageEvent): void;
  /**
   * Charges every open reservation of a boot that is over once, as estimated; returns how many. At start, and where
   * several servers share the books now and then: a boot is over when it has been silent for 30 s.
   */
  recover(): Promise<number>;
  /**
   * Beginning of the newest quota bucket of any scope; 0 if there is none. It may be ahead of the wall clock, if the
   * clock was set back since. Counters that start continue from here.
   */
  newestBucketMs(): Promise<number>;
  /** Every reservation of this account that is open, whichever process holds it. */
  openReservations(account: string): Promise<readonly ReservationRow[]>;
  /** The settled ones of these requests, with the milli-units that they kept. */
  settled(requestIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Processes that share these books and beat within 30 s, this one included, as of now. */
  livingBoots(): Promise<number>;
  /** By our id or the caller's, within one account (null = any). A caller's repeated id gives the newest. */
  find(id: string, account: string | null): Promise<UsageEvent | null>;
  /** Newest first. `next` is the cursor of the next page, null at the end. */
  list(query: RequestQuery): Promise<{ events: readonly UsageEvent[]; next: string | null }>;
  /** Sums by group, in the group's order (days ascending, others by units descending); at most `rowsMax`, the largest. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** The traffic in steps of time, oldest first. */
  traffic(query: TrafficQuery): Promise<readonly TrafficPoint[]>;
  /** Attempts by group, class and step, groups with most of them first; at most `attemptRowsMax`. */
  attempts(query: AttemptQuery): Promise<readonly AttemptSum[]>;
  /** Use of the caches of models, in the order of the models' names. */
  cacheUses(query: CacheUseQuery): Promise<readonly CacheUses[]>;
  /** Use of the providers' caches, in the order of the days; a day without reading and writing has no row. */
  promptCacheDays(query: CacheUseQuery): Promise<readonly PromptCacheDay[]>;
  /**
   * Gives settled requests another cost, in the ledger and in every sum of it, all in one commit; at most `repricedMax`.
   * Resolves to the ids of the changed ones: a request whose cost is not the one `before` any more stays. `atMs`: when it
   * was asked for.
   */
  reprice(changes: readonly Repriced[], atMs: number): Promise<readonly string[]>;
  /** Changes of `reprice` in requests of some hours, by account and model. */
  repriced(query: RepricedQuery): Promise<readonly RepricedRow[]>;
  /** Removes requests older than `beforeMs` and dead quota buckets; roll-ups stay. Resolves to their number. */
  prune(beforeMs: number): Promise<number>;
  /** Records for sinks. */
  records: RecordStore;
  /** Feedback to requests, and what variants of models came to. */
  experiments: ExperimentBook;
  /** Statements of months that are closed. */
  statements: StatementBook;
  /** Why nothing can be booked right now, in words for the operator; null when it can. */
  trouble(): string | null;
  gauges(): { queued: number; open: number; dropped: number };
  /** Everything queued is committed and durable. */
  flush(): Promise<void>;
  shutdown(): Promise<void>;
}

export interface RepricedQuery {
  /** Null: all accounts; []: none. */
  accounts: readonly string[] | null;
  /** Wall-clock ms of arrival, whole hours: from is rounded down, to up. */
  fromMs: number;
  toMs: number;
}

/** Differences: what the sums have more than was charged. */
export interface RepricedRow {
  account: string;
  model: string;
  usdNano: number;
  unpriced: number;
}

/** `toMs` itself is not in, and the hours are not rounded. Requests that were pruned do not count. */
export interface CacheUseQuery extends RepricedQuery {
  /** Absent: all models. */
  model?: string;
}

export interface CacheUses {
  model: string;
  hits: number;
  /** Hits that answered a question of the same meaning. */
  semanticHits: number;
  misses: number;
  savedUsd: number;
}

/** Use of providers' caches on one day, UTC. */
export interface PromptCacheDay {
  /** `2026-11-20`. */
  day: string;
  /** Requests that read or wrote. */
  requests: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  /** USD, as in `saved_usd` of their rows; below zero where writing cost more. Those without a price count as 0. */
  savedUsd: number;
}

/** Filter of requests. An absent member lets everything through. Names are compared byte for byte. */
export interface RequestFilter {
  /** A key's id. */
  key?: string;
  /** Ids of keys; []: none. */
  keys?: readonly string[];
  alias?: string;
  /** Calls of one MCP server: those of its tools and prompts begin with the prefix, those of resources have its name. */
  mcpServer?: { name: string; prefix: string };
  /** Provider of the target that answered. */
  provider?: string;
  endpoint?: string;
  user?: string;
  tag?: string;
  /** A session of requests; `any`: those of every session. */
  session?: { name: string } | 'any';
  /**
   * HTTP status, or a class such as `5` for 5xx. Refused requests are listed only with a status or a class of failure;
   * all others together are what the sums cover.
   */
  status?: number;
  /** `ok`, a failure's class, or `failed` for all but `ok`. */
  class?: string;
  stream?: boolean;
  costUsdMin?: number;
  unitsMin?: number;
}

export interface RequestQuery {
  /** Null: all accounts; []: none. */
  accounts: readonly string[] | null;
  where: RequestFilter;
  /** Wall-clock ms of arrival; `untilMs` itself is not in. */
  sinceMs: number | null;
  untilMs: number | null;
  /**
   * Only requests that ended no earlier than this one, and came at most ten minutes before it: those that a page with
   * this one has not seen. Null: all. There is no next page.
   */
  after: { requestId: string; settledMs: number } | null;
  /** 1 to 1,000. */
  limit: number;
  /** An earlier answer's `next`; null: from the newest. Anything else is a FailureError `invalid-request`. */
  cursor: string | null;
}

export type UsageGroup = 'hour' | 'day' | 'model' | 'account' | 'endpoint' | 'user' | 'tag' | 'provider' | 'key';

/** Filter of the sums. An absent member lets everything through. */
export type UsageFilter = Pick<RequestFilter, 'key' | 'keys' | 'alias' | 'provider' | 'endpoint' | 'user' | 'tag'>;

export interface UsageQuery extends RepricedQuery {
  where: UsageFilter;
  groupBy: UsageGroup;
  /** Each group's parts, such as the models of a day; null: none. It differs from `groupBy`. */
  splitBy: UsageGroup | null;
  /** The range is taken to the ms, from single requests: for a few hours of which they are kept. */
  exact?: true;
  /** Days of a time zone, for groups by day; absent: those of UTC. */
  days?: ZoneDays;
  /** With `splitBy`: the largest parts of the range have rows; the others of a group share one. Absent: all have rows. */
  parts?: { count: number; by: PartMeasure };
  /** Groups with most of it come first, and stay where there are more than `rowsMax`. Absent: units. */
  orderBy?: PartMeasure;
  /** Absent: `usageRowsMax`. */
  rowsMax?: number;
}

/** By what groups and parts of sums are the largest. */
export const partMeasures = ['units', 'requests', 'tokens', 'cost_usd', 'errors', 'unpriced_requests'] as const;
export type PartMeasure = (typeof partMeasures)[number];

export interface UsageRow {
  /** `2026-11-20`, `2026-11-20T13:00Z`, or the model's, account's, … name; '' where there was none. */
  group: string;
  /** The part of the group, with `splitBy`. Null in a row of several. */
  split: string | null;
  /** With `parts`, in a group's last row: it sums the parts that are not among the largest; the range has so many. */
  otherParts?: number;
  requests: number;
  milliUnits: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  /** Requests whose class is not `ok`. */
  errors: number;
  /**
   * Parts of these sums (tokens: input and output together) that no upstream reported, by `usageSource`. Hours that
   * were summed before the ledger had this have 0.
   */
  countedTokens: number;
  estimatedTokens: number;
  countedCostUsd: number;
  estimatedCostUsd: number;
  /** Requests that a target without a price answered, which `costUsd` does not have. */
  unpriced: number;
}
