import type { Loss } from '../formats/neutral/loss.ts';
import type { OutcomeClass, TooLong } from '../formats/neutral/outcome.ts';
import type { RequestNeeds } from '../formats/neutral/request.ts';
import type { Usage, UsageSource } from '../formats/neutral/usage.ts';
import type { AttemptFacts } from '../kernel/trace.ts';
import type { Lane } from './lane.ts';
import type { Preference } from './prefer.ts';
import type { Credential, Target } from './target.ts';

/** Input of routing. Alias targets come in config order, fallbacks' targets after them. */
export interface RouteQuery {
  alias: string;
  /** Key identity of the caller: failures that follow one tenant say nothing of a target. */
  tenant: string;
  targets: readonly RouteCandidate[];
  needs: RequestNeeds;
  /** By which a conversation finds its target again: the caller's session, or its first messages; null: by nothing. */
  conversation: string | null;
  /** Its target probably has the prompt in its cache: a lower load elsewhere counts for less. */
  staysWarm?: true;
  attemptsMax: number;
  /** `x-culvert-no-fallback`: only the first alias's own targets, one attempt. */
  fallback: 'allowed' | 'off';
  /** The caller's dialect: where a 400 of another dialect gets its second opinion. */
  callerDialect: string;
  hedge: HedgePolicy;
  /** By what equals are chosen before their weights; absent: by weight and load alone. */
  prefer?: Preference;
  /** Further targets of the alias, which may not answer; absent: none. */
  barred?: readonly Verdict[];
  /** `next`: what a content filter refuses goes to the next target; absent: the refusal is the answer. */
  onFilter?: 'next';
}

/** A caller's preferences for routing, in headers (design §6). */
export interface RoutingPreferences {
  /** Overall deadline; null = the alias's own. */
  timeoutMs: number | null;
  fallback: 'allowed' | 'off';
  /** By which its conversations find the same target again; null = by their beginning. */
  session: string | null;
}

/** Defaults, for a request without such headers. */
export const defaultPreferences: RoutingPreferences = { timeoutMs: null, fallback: 'allowed', session: null };

/** When a request with a slow target is also sent elsewhere. Requests at a silent target always are. */
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
  /** It cannot do exactly what was asked: tried after those of its rank that can. */
  awkward?: boolean;
}

/**
 * The ordered decision for one request; called again after each failed attempt. The caller reports how each attempt
 * that it gave went.
 */
export interface Route {
  next(nowMs: number): RouteStep;
  /** A second attempt, parallel to the running one, at another target; null when none is ready or may be made. */
  hedge(reason: HedgeReason, nowMs: number): RouteAttempt | null;
  /** Must be called for each `attempt` step, once, before `next` is called again. */
  ended(attempt: RouteAttempt, end: AttemptEnd, nowMs: number): void;
  /** At first content or a whole answer: feeds PeakEWMA. */
  firstToken(attempt: RouteAttempt, nowMs: number): void;
  /** Its answer has stopped after its first content, for far longer than usual at its target; it may still go on. */
  stalled(attempt: RouteAttempt, nowMs: number): void;
  verdicts(): readonly Verdict[];
  /** Some capable target was not asked that may answer later. */
  untried(): boolean;
}

/**
 * Why a request is also asked elsewhere: its target says nothing at all, or this answer takes longer than usual; `late`:
 * longer than its target's `max_first_token`, or half of the request's time is gone.
 */
export type HedgeReason = 'silent' | 'slow' | 'late';

/** The next step. */
export type RouteStep =
  | {
      kind: 'attempt';
      attempt: RouteAttempt;
      /** Backoff before dispatch; 0 unless a target is repeated. */
      delayMs: number;
    }
  /** Nothing is to be tried now, but something soon: ask again then. */
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
      /** The provider that limited us, when only limits keep every capable target away; else null. */
      limitedBy: readonly UpstreamLimit[] | null;
    };

/** A provider that has said that it has had enough for now. */
export interface UpstreamLimit {
  provider: string;
  /** Its message to this tenant; null: another tenant got it. */
  message: string | null;
}

export type ExhaustedReason =
  | 'no-capable-target'
  | 'unavailable'
  | 'attempts-spent'
  /** The first `caller_fault` or `too_long` is the answer, whatever others ended with; unless one may have what it `lacks`. */
  | 'caller-fault'
  | 'retry-budget';

/** One try, as the route has decided it. */
export interface RouteAttempt {
  number: number;
  target: Target;
  credential: Credential;
  /** The path it takes. */
  lane: Lane;
  /** This real request tests an open breaker. */
  probe: boolean;
  /** Monotonic ms at which it is to be dispatched, the backoff included; times to first token count from here. */
  startedMs: number;
  /**
   * Headers of its answer with the limits of the caller's credential (name, value, …); absent: the credential is not the
   * caller's, or the answer has none.
   */
  callersLimits?: readonly string[];
}

export interface AttemptEnd {
  class: OutcomeClass;
  retryAfterMs: number | null;
  /** The upstream's HTTP status: of caller faults only a 400 gets a second opinion. Unsaid counts as 400. */
  status?: number | null;
  /** Another target answered first: this one was given up. */
  lost?: boolean;
  /** For `not_capable`: the missing ability of this target alone, in words. Absent: nothing of its dialect can. */
  unmet?: string;
  /** For `rate_limited`: the upstream's message. */
  message?: string;
  /** For `too_long`: the sizes that the upstream named. */
  tooLong?: TooLong;
  /** For `caller_fault`: another target may have what this one lacks. */
  lacks?: true;
}

/** Why a candidate was or was not taken; words for people. */
export interface Verdict {
  target: string;
  verdict: string;
}

/** One attempt in the ledger. */
export type AttemptRecord = AttemptFacts & {
  target: string;
  class: OutcomeClass;
  /** Ms from the request's arrival to its dispatch: attempts may run in parallel. */
  startMs: number;
  bytes: number;
  usage: Usage | null;
  usageSource: UsageSource;
};

/** The explanation of one request, kept with its usage event. */
export type RouteRecord = {
  alias: string;
  verdicts: readonly Verdict[];
  attempts: readonly AttemptRecord[];
  losses: readonly Loss[];
  passThrough: boolean;
  /** The share of its target's price that was charged; absent: all of it. */
  priceShare?: number;
  /** Lines of the upstream's stream that could not be read and were skipped; absent when none. */
  malformedLines?: number;
  /** Headers of guards and other steps: name, value…; absent: none applied. */
  steps?: readonly string[];
  /** The provider's batch that answered it; absent: none did. */
  batch?: string;
  /** Rules for routes that applied, and those before the last of them that did not; absent: none are set up. */
  rules?: RulesRecord;
  /** For calls of MCP servers elsewhere. */
  mcp?: McpCallRecord;
  /** For messages to agents elsewhere. */
  agent?: AgentCallRecord;
  /** The prompt that the request or its variant names, as `name@3`; absent: none. */
  prompt?: string;
  /** Age of the kept answer that was given, ms; absent: it was none. */
  cacheAgeMs?: number;
  /** Similarity of the question that the kept answer was for, at most 1; absent: it was this one. */
  cacheSimilarity?: number;
};

/** Rules for routes that a request went through. */
export interface RulesRecord {
  /** Names of those that applied. */
  applied: readonly string[];
  /** Rules that were tried and did not, with the first part of their condition that was not true. */
  passed: readonly { rule: string; because: string }[];
  /** Number of further ones, which are not in the list; absent: none. */
  passedMore?: number;
  /** By rules that classify; absent: none applied. */
  classified?: readonly ClassifiedBy[];
}

/** The class that a rule found for a request. */
export interface ClassifiedBy {
  rule: string;
  /** Model of the nearest class; null: none was clearly the nearest. */
  model: string | null;
  /** Similarity, at most 1; null: there was no vector in time. */
  score: number | null;
  /** The rule only looks; absent: its model answered. */
  observed?: boolean;
}

/** Target of an MCP call, without its arguments and its result. */
export interface CalledMcp {
  server: string;
  kind: 'tool' | 'prompt' | 'resource';
  /** Its own name; null: a resource, whose address a caller makes. */
  name: string | null;
  /** Host of a server that the caller named by URL; null: one of the configuration. */
  host: string | null;
}

/** A message of A2A, without what it says. */
export interface AgentCallRecord {
  agent: string;
  /** Name that A2A gives it. */
  method: string;
  /** The agent's id of the task; null: the message is of none. */
  task: string | null;
  /** `ok`, `error -32001` for an error of the protocol, or the reason of the fault; null: nobody waited for it. */
  outcome: string | null;
  /** Size of the answer. */
  bytes: number;
}

export interface McpCallRecord extends CalledMcp {
  /** `ok`, `tool-error` for a result that says so, `input-required` for a question, or the reason of the fault; null: nobody waited for it. */
  outcome: string | null;
  /** Size of the result: as JSON, or as the text that a model gets. */
  bytes: number;
}
