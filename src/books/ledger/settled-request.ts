import type { Usage } from '../../formats/neutral/usage.ts';
import type { AttemptFacts } from '../../kernel/trace.ts';

/** Price that the caller pays in the end. */
export interface Charge {
  /** Milli-units kept of the reservation; the rest goes back. */
  costMilli: number;
  usage: Usage;
  usageSource: UsageOrigin;
}

/** Source of the counts, as the neutral form's UsageSource. */
export type UsageOrigin = 'upstream' | 'counted' | 'estimated' | 'abandoned' | 'none';

/** Instead of it, in the record of a request that was refused before anything was held (books/metering/refusal). */
export type RefusedSource = 'refused';

/** Outcome of a model's cache for a request. */
export type CacheUse = 'hit' | 'semantic' | 'miss';

/** Facts of a settled request, of which the columns of its row are made. */
export interface SettledFacts {
  clientRequestId: string | null;
  status: number;
  class: string;
  stream: boolean;
  aborted: boolean;
  ms: number;
  firstTokenMs: number | null;
  target: string | null;
  user: string | null;
  /** Tag by which the caller sums its usage (`x-culvert-tag`). */
  tag: string | null;
  /** USD that a kept answer saved; absent or null: it was no kept answer. */
  savedUsd?: number | null;
  /** Outcome of the model's cache; absent: none. */
  cacheUse?: CacheUse | undefined;
  /** Its conversation or agent run, as the caller names it; null or absent: it names none. */
  session?: string | null;
  /** The variant of its model; null or absent: it has none. */
  variant?: string | null;
  route: UsageRoute;
  claim: {
    requestId: string;
    principal: { account: string; keyId: string; tenant: string; run?: { keyId: string } };
    endpoint: string;
    /** The model, or what is there in its place; '' for none. */
    alias: string;
    tier: string | null;
    /** See `Counted` in metering/counter-scope.ts. */
    furtherScopes?: string;
    /** Wall-clock ms of arrival. */
    atMs: number;
  };
}

/** A route record (inference/routing): its attempts as the ledger knows them; the rest is opaque here. */
export interface UsageRoute {
  attempts: readonly UsageAttempt[];
  [key: string]: unknown;
}

export interface UsageAttempt extends AttemptFacts {
  /** `provider/model`; no provider's name holds a slash. */
  target: string;
  class: string;
  /** After the request's arrival; null in records of a version that did not keep it. */
  startMs: number | null;
  bytes: number;
  usage: Usage | null;
  usageSource: string;
}
