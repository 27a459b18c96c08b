import type { MeteredUsage } from './charge.ts';

/**
 * The port of the books: a reservation is written before the first attempt is dispatched and closed by exactly one
 * usage event. Drivers: stores/sqlite (ledger.db), later stores/postgres.
 */
export interface Ledger {
  /** Resolves once the row is committed; rejects with a FailureError `quota-unavailable` after 250 ms. */
  open(reservation: ReservationRow): Promise<void>;
  /**
   * Closes the reservation and writes event and attempts in one commit. Fire and forget: what cannot be written is
   * retried in memory for 30 s, then stays open and is charged at its estimate by the next start.
   */
  close(event: UsageEvent): void;
  /** Charges every open reservation of a boot that is over once, as estimated; returns how many. At start. */
  recover(): Promise<number>;
  /** By our id or the caller's, within one account (null = any). A caller's repeated id gives the newest. */
  find(id: string, account: string | null): Promise<UsageEvent | null>;
  /** Everything queued is committed and durable. */
  flush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** A running request in the books. `atMs` is wall-clock time of arrival. */
export interface ReservationRow {
  requestId: string;
  bootId: string;
  atMs: number;
  account: string;
  keyId: string;
  tenant: string;
  endpoint: string;
  alias: string;
  /** Milli-units held. */
  costMilli: number;
  inputTokensEstimate: number;
}

/** One immutable row a request. Times in ms, `costUsd` in USD, `costMilli` in milli-units. */
export interface UsageEvent {
  requestId: string;
  clientRequestId: string | null;
  /** Wall-clock ms at which the request came in. */
  atMs: number;
  account: string;
  keyId: string;
  tenant: string;
  endpoint: string;
  alias: string;
  /** Target of the attempt that answered; null when none did. */
  target: string | null;
  /** HTTP status the caller got; 499 when the caller left before one was sent. */
  status: number;
  /** `ok` or the failure's class. */
  class: string;
  stream: boolean;
  aborted: boolean;
  ms: number;
  firstTokenMs: number | null;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  characters: number;
  audioMs: number;
  images: number;
  costMilli: number;
  costUsd: number | null;
  usageSource: string;
  user: string | null;
  /** What routing did and why (routing/route.ts RouteRecord), opaque here. */
  route: UsageRoute;
}

/** The attempts of a route record are rows of their own; the rest, opaque here, is kept as JSON. */
export interface UsageRoute {
  attempts: readonly UsageAttempt[];
  [key: string]: unknown;
}

export interface UsageAttempt {
  /** `provider/model`; no provider's name holds a slash. */
  target: string;
  provider: string;
  model: string;
  credential: string;
  class: string;
  status: number | null;
  ms: number;
  firstTokenMs: number | null;
  bytes: number;
  usage: MeteredUsage | null;
  usageSource: string;
  costUsd: number | null;
  message: string | null;
}
