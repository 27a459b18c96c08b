import type { Loss } from '../neutral/loss.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import type { RequestNeeds } from '../neutral/request.ts';
import type { Usage, UsageSource } from '../neutral/usage.ts';
import type { Lane } from './lane.ts';
import type { Preference } from './prefer.ts';
import type { Credential, Target } from './target.ts';

/** What routing is asked. Alias targets come in config order, fallbacks' targets after them. */
export interface RouteQuery {
  alias: string;
  /** Key identity of who asks: failures that follow one tenant say nothing of a target. */
  tenant: string;
  targets: readonly RouteCandidate[];
  needs: RequestNeeds;
  /** By which a conversation finds its target again: the caller's session, or its first messages; null: by nothing. */
  conversation: string | null;
  attemptsMax: number;
  /** `x-culvert-no-fallback`: only the first alias's own targets, one attempt. */
  fallback: 'allowed' | 'off';
  /** The caller's dialect: where a 400 of another dialect gets its second opinion. */
  callerDialect: string;
  hedge: HedgePolicy;
  /** By what equals are chosen before their weights; absent: by weight and load alone. */
  prefer?: Preference;
}

/** What a caller may say of routing, in headers (design §6). */
export interface RoutingWishes {
  /** Overall deadline; null = the alias's own. */
  timeoutMs: number | null;
  fallback: 'allowed' | 'off';
  /** By which its conversations find the same target again; null = by their beginning. */
  session: string | null;
}

/** When a request whose target is slow is also asked elsewhere. What a silent target holds always is. */
export interface HedgePolicy {
  /** The part of the alias's requests that may be, 0 to 1. */
  atMost: number;
  /** Percentile of a target's times to first token, 0 to 1, after which a stream counts as slow; null: never. */
  after: number | null;
}

/** Whole answers that take longer than their target's usual, and no streams. */
export const builtInHedge: HedgePolicy = { atMost: 0.05, after: null };

/** A target that may answer this request. */
export interface RouteCandidate {
  target: Target;
  /** 0 = the alias asked for; 1… = its fallbacks, tried after all targets before them. */
  rank: number;
  /** It cannot do quite what was asked: tried after those of its rank that can. */
  awkward?: boolean;
}

/** The ordered decision for one request; asked again after each failed attempt. It is told of attempts that it gave. */
export interface Route {
  next(nowMs: number): RouteStep;
  /** A second attempt beside the one that runs, at another target; null when none is ready or may be made. */
  hedge(reason: HedgeReason, nowMs: number): RouteAttempt | null;
  /** Must be called for each `attempt` step, once, before `next` is called again. */
  ended(attempt: RouteAttempt, end: AttemptEnd, nowMs: number): void;
  /** At first content or a whole answer: feeds PeakEWMA. */
  firstToken(attempt: RouteAttempt, nowMs: number): void;
  verdicts(): readonly Verdict[];
}

/** Why a request is also asked elsewhere: its target says nothing at all, or this answer takes longer than usual. */
export type HedgeReason = 'silent' | 'slow';

/** What to do next. */
export type RouteStep =
  | {
      kind: 'attempt';
      attempt: RouteAttempt;
      /** Backoff before dispatch; 0 unless a target is repeated. */
      delayMs: number;
    }
  /** Nothing can be tried now, but something within waitForTargetMaxMs: ask again then. */
  | { kind: 'wait'; ms: number }
  /**
   * Nothing is left to try. `soonestMs` is the wait in ms until a capable target could be tried, null if none will be
   * or one could. Nothing tried, or every attempt `rate_limited`, and a time: 429 or 503 with Retry-After; else 502.
   */
  | {
      kind: 'exhausted';
      soonestMs: number | null;
      reason: ExhaustedReason;
      /** For `no-capable-target`: what no target can do, such as `vision`; else empty. */
      unmet: readonly string[];
      /** Who has limited us, where that and nothing else keeps every capable target away; else null. */
      limitedBy: readonly UpstreamLimit[] | null;
    };

/** A provider that has said that it has had enough for now. */
export interface UpstreamLimit {
  provider: string;
  /** As it said so to this tenant; null: it said so to another one. */
  words: string | null;
}

export type ExhaustedReason =
  | 'no-capable-target'
  | 'unavailable'
  | 'attempts-spent'
  /** The first `caller_fault` among the attempts is the answer, whatever its second opinion ended with. */
  | 'caller-fault'
  | 'retry-budget';

/** One try, as the route has decided it. */
export interface RouteAttempt {
  number: number;
  target: Target;
  credential: Credential;
  /** What it travels. */
  lane: Lane;
  /** This real request tests an open breaker. */
  probe: boolean;
  /** Monotonic ms at which it is to be dispatched, the backoff included; times to first token count from here. */
  startedMs: number;
}

export interface AttemptEnd {
  class: OutcomeClass;
  retryAfterMs: number | null;
  /** The upstream's HTTP status: of caller faults only a 400 gets a second opinion. Unsaid counts as 400. */
  status?: number | null;
  /** Another target answered first: this one was given up. */
  lost?: boolean;
  /** Of `not_capable`: what this target alone cannot do, in words. Unsaid: nothing that speaks its dialect can. */
  unmet?: string;
  /** Of `rate_limited`: what the upstream said. */
  words?: string;
}

/** Why a candidate was or was not taken; words for people. */
export interface Verdict {
  target: string;
  verdict: string;
}

/** What the ledger keeps of one attempt. */
export type AttemptRecord = {
  target: string;
  provider: string;
  model: string;
  credential: string;
  class: OutcomeClass;
  status: number | null;
  /** Ms from the request's arrival to its dispatch: attempts may run beside each other. */
  startMs: number;
  /** Ms from dispatch to its end, and to first content (null: none came). */
  ms: number;
  firstTokenMs: number | null;
  bytes: number;
  usage: Usage | null;
  usageSource: UsageSource;
  costUsd: number | null;
  message: string | null;
};

/** The explanation of one request, kept with its usage event. */
export interface RouteRecord {
  alias: string;
  verdicts: readonly Verdict[];
  attempts: readonly AttemptRecord[];
  losses: readonly Loss[];
  passThrough: boolean;
  /** Lines of the upstream's stream that could not be read and were skipped; absent when none. */
  malformedLines?: number;
}
