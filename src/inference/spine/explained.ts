import type { Principal } from '../../books/auth/principal.ts';
import type { Health } from '../../routing/health.ts';
import type { HedgeReason, RoutingPreferences, RulesRecord, Verdict } from '../../routing/route.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { CacheExplained } from './answer-cache.ts';
import type { ReadLeft, RuledCall } from './ruled.ts';

/** A query about a body. */
export interface Question {
  snapshot: Snapshot;
  principal: Principal;
  raw: Buffer;
  preferences: RoutingPreferences;
  /** Facts of the caller, for rules: its tag and lower-case headers, and the states of its limits. Absent: none. */
  ruled?: Pick<RuledCall, 'tag' | 'callerHeaders' | 'atMs'> & { left: ReadLeft | null };
  health: Health;
  /** Monotonic ms, by the clock of `health`. */
  nowMs: number;
}

/** Result that a body would have. */
export interface ExplainedRequest {
  kind: 'explained';
  alias: string;
  /** Changes by rules for routes; absent: there are none. */
  rules?: RulesRecord;
  /** The variant of this caller; absent: the model has none. */
  variant?: string;
  endpoint: string;
  stream: boolean;
  /** Units of quota. */
  cost: number;
  attemptsMax: number;
  /** Why it would also be asked of another target while the first one runs; empty when it never would. */
  hedgedWhen: readonly HedgeReason[];
  inputTokensEstimate: number;
  /** Separate upstream requests for `n` choices; 1 when one does. */
  upstreamRequests: number;
  /** In the order in which they would be asked; those that are out come last. */
  candidates: readonly ExplainedTarget[];
  /** Targets of the model that may not answer this caller or request. */
  barred: readonly Verdict[];
  /** Result of its model's cache; null: the model has none, or it cannot be read here. */
  cache: CacheExplained | null;
  /** The missing ability of every candidate, when that is why nothing would be sent. */
  unmet: readonly string[];
}

/** One candidate, and the body that it would get. */
export interface ExplainedTarget {
  target: string;
  rank: number;
  priority: number;
  weight: number;
  verdict: string;
  simulated: boolean;
  /** Null when nothing can be sent there; `why` says so. */
  sent: SentBody | null;
  why: string | null;
}

export interface SentBody {
  answer: 'pass-through' | 'converted';
  dialect: string;
  /** Number of calls that inputs for embeddings need at this target; else 1. */
  calls: number;
  /** Bytes of all calls together. */
  bytes: number;
  /** `x-culvert-dropped`'s value: fields that would be left out or changed. */
  dropped: string | null;
}
