import { waitForTargetMaxMs } from '../../kernel/limits.ts';
import type { Random } from '../../kernel/random.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { dialectFor } from './capability.ts';
import { Choice, leastBad, repeatHopeAfter, type Survey, survey, unmetNeeds } from './choice.ts';
import { verdictOn } from './cooldown.ts';
import { verdictOf } from './explain.ts';
import type { Health } from './health.ts';
import { answerKindOf, hopeOf, type Lane, triableAtMs } from './lane.ts';
import { pick } from './pick.ts';
import type { RetryBudget } from './retry-budget.ts';
import type {
  AttemptEnd,
  ExhaustedReason,
  HedgeReason,
  Route,
  RouteAttempt,
  RouteQuery,
  RouteStep,
  Verdict,
} from './route.ts';
import type { Credential, Target } from './target.ts';

export interface RouteDeps {
  health: Health;
  retryBudget: RetryBudget;
  random: Random;
  /** Monotonic ms, like every time that the route is given later. */
  nowMs: number;
}

/**
 * While some target answers at least so often, a request's further attempts are free; in an outage they draw on the
 * alias's budget, so that it is not multiplied.
 */
const hopefulShare = 0.15;
/** Attempts of a request whose failures follow its tenant. */
const followingAttemptsMax = 2;

/** Begins one request's route and counts the request in its alias's retry budget. */
export function createRoute(query: RouteQuery, deps: RouteDeps): Route {
  deps.retryBudget.requested(query.alias, deps.nowMs);
  return new LiveRoute(query, deps);
}

class LiveAttempt implements RouteAttempt {
  readonly number: number;
  readonly target: Target;
  readonly credential: Credential;
  readonly startedMs: number;
  probe = false;
  readonly choice: Choice;
  readonly lane: Lane;
  content: 'seen' | 'none' = 'none';
  at: 'running' | 'ended' = 'running';

  constructor(number: number, choice: Choice, lane: Lane, startedMs: number) {
    this.number = number;
    this.target = choice.target;
    this.credential = lane.credential;
    this.startedMs = startedMs;
    this.choice = choice;
    this.lane = lane;
  }
}

class LiveRoute implements Route {
  readonly #query: RouteQuery;
  readonly #health: Health;
  readonly #retryBudget: RetryBudget;
  readonly #random: Random;
  readonly #choices: Choice[] = [];
  readonly #attempts: LiveAttempt[] = [];
  #attemptsMax: number;
  #repeats = 0;
  #probed = false;
  #waited: 'not yet' | 'just now' | 'before' = 'not yet';
  /** A caller fault of a target that had the request converted: asked once of one that reads it as it came. */
  #secondOpinion: 'none' | 'wanted' | 'asked' = 'none';
  #over: ExhaustedReason | null = null;

  constructor(query: RouteQuery, deps: RouteDeps) {
    this.#query = query;
    this.#health = deps.health;
    this.#retryBudget = deps.retryBudget;
    this.#random = deps.random;
    this.#attemptsMax = query.fallback === 'off' ? 1 : query.attemptsMax;
    for (const candidate of query.targets) this.#choices.push(new Choice(candidate, query, deps.health));
  }

  next(nowMs: number): RouteStep {
    if (this.#over !== null) return this.#exhausted(this.#over, nowMs);
    if (this.#secondOpinion === 'wanted') return this.#askSecondOpinion(nowMs);
    if (this.#attempts.length >= this.#attemptsMax) return this.#exhausted('attempts-spent', nowMs);
    const scope = this.#attempts.length === 0 ? 'first' : 'fresh';
    const fresh = this.#choose(survey(this.#choices, scope, this.#query, this.#random, nowMs), nowMs);
    if (fresh !== null) return this.#attempt(fresh, 'picked', nowMs);
    const again = leastBad(this.#choices, nowMs);
    return again === null ? this.#waitOrGiveUp(nowMs) : this.#attempt(again, 'picked as the least bad', nowMs);
  }

  hedge(reason: HedgeReason, nowMs: number): RouteAttempt | null {
    if (this.#over !== null || this.#attempts.length >= this.#attemptsMax) return null;
    const { ready } = survey(this.#choices, 'fresh', this.#query, this.#random, nowMs);
    if (ready.length === 0) return null;
    if (reason === 'slow' && !this.#retryBudget.takeHedge(this.#query.alias, this.#query.hedge.atMost, nowMs))
      return null;
    const choice = pick(ready, this.#query.affinity, this.#random, nowMs);
    return this.#begin(choice, 'picked as a hedge', 0, nowMs);
  }

  ended(attempt: RouteAttempt, end: AttemptEnd, nowMs: number): void {
    const live = this.#liveOf(attempt);
    if (live === undefined || live.at === 'ended') return;
    live.at = 'ended';
    this.#health.ended(
      live.lane,
      live,
      {
        class: end.class,
        retryAfterMs: end.retryAfterMs,
        afterMs: Math.max(0, nowMs - live.startedMs),
        content: live.content,
        tenant: this.#query.tenant,
        repeated: live.choice.blamed,
        lost: end.lost === true,
      },
      nowMs,
    );
    live.choice.running--;
    if (verdictOn(end.class) === 'failed') live.choice.blamed = true;
    // This tenant's request fails where those of others are served: one look elsewhere is enough.
    if (end.class === 'transient' && live.lane.state.share.followsTenant(this.#query.tenant, nowMs))
      this.#attemptsMax = Math.min(this.#attemptsMax, followingAttemptsMax);
    if (end.class === 'not_capable') {
      this.#withdraw(live, end.unmet ?? null);
    } else {
      live.choice.tried ??= [];
      live.choice.tried.push(live.lane);
      live.choice.tries++;
      live.choice.repeatHope *= repeatHopeAfter(end.class);
      if (!concernsCredential(end.class) && !live.probe) live.choice.spent = true;
    }
    this.#decideAfter(live, end);
  }

  firstToken(attempt: RouteAttempt, nowMs: number): void {
    const live = this.#liveOf(attempt);
    if (live === undefined || live.at === 'ended' || live.content === 'seen') return;
    live.content = 'seen';
    this.#health.firstToken(
      live.lane,
      live,
      answerKindOf(this.#query.needs),
      Math.max(0, nowMs - live.startedMs),
      nowMs,
    );
  }

  laneOf(attempt: RouteAttempt): Lane {
    return this.#liveOf(attempt)!.lane;
  }

  verdicts(): readonly Verdict[] {
    return this.#choices.map((choice) => ({ target: choice.target.id, verdict: verdictOf(choice, this.#health) }));
  }

  /** As if it had been filtered; what its dialect cannot say, with all that speak alike. */
  #withdraw(live: LiveAttempt, unmet: string | null): void {
    const { callerDialect } = this.#query;
    const dialect = dialectFor(live.target, callerDialect);
    if (unmet !== null) live.choice.cannot(unmet);
    for (const choice of unmet === null ? this.#choices : []) {
      if (choice.unfit === null && dialectFor(choice.target, callerDialect) === dialect) {
        choice.cannot(`asked this in ${dialect}`);
      }
    }
    live.choice.picked = null;
    this.#attempts.splice(this.#attempts.indexOf(live), 1);
  }

  #liveOf(attempt: RouteAttempt): LiveAttempt | undefined {
    for (const live of this.#attempts) if (live === attempt) return live;
    return undefined;
  }

  #decideAfter(live: LiveAttempt, end: AttemptEnd): void {
    switch (end.class) {
      case 'ok':
      case 'cancelled':
      case 'deadline':
        this.#over = 'attempts-spent';
        return;
      case 'caller_fault': {
        const maybeOurs =
          dialectFor(live.target, this.#query.callerDialect) !== this.#query.callerDialect &&
          (end.status ?? 400) === 400;
        if (maybeOurs && this.#secondOpinion === 'none') this.#secondOpinion = 'wanted';
        else this.#over = 'caller-fault';
        return;
      }
      default:
        if (this.#secondOpinion === 'asked') this.#over = 'caller-fault';
    }
  }

  #askSecondOpinion(nowMs: number): RouteStep {
    if (this.#attempts.length < this.#attemptsMax) {
      const { ready } = survey(this.#choices, 'own-dialect', this.#query, this.#random, nowMs);
      if (ready.length > 0 && this.#hasBudget(nowMs)) {
        this.#secondOpinion = 'asked';
        const choice = pick(ready, this.#query.affinity, this.#random, nowMs);
        return { kind: 'attempt', attempt: this.#begin(choice, 'picked', 0, nowMs), delayMs: 0 };
      }
    }
    this.#over = 'caller-fault';
    return this.#exhausted('caller-fault', nowMs);
  }

  /**
   * A lane that is due a probe goes before its equals: the first request after its time tests it, once, and can
   * still be served elsewhere if it fails. With nothing else to ask it is the one hope.
   */
  #choose(found: Survey, nowMs: number): Choice | null {
    const { ready, due } = found;
    if (due !== null) {
      const canStillBeServed = !this.#probed && this.#attempts.length + 1 < this.#attemptsMax;
      if (ready.length === 0 || canStillBeServed) {
        due.lane = found.dueLane;
        return due;
      }
    }
    return ready.length === 0 ? null : pick(ready, this.#query.affinity, this.#random, nowMs);
  }

  #attempt(choice: Choice, as: 'picked' | 'picked as the least bad', nowMs: number): RouteStep {
    if (!this.#hasBudget(nowMs)) return this.#exhausted('retry-budget', nowMs);
    // A wait that just ended was pause enough.
    const delayMs = choice.tries === 0 || this.#waited === 'just now' ? 0 : this.#backoffMs();
    return { kind: 'attempt', attempt: this.#begin(choice, as, delayMs, nowMs), delayMs };
  }

  /** The first attempt is free, and so is any other while some target answers. */
  #hasBudget(nowMs: number): boolean {
    return this.#attempts.length === 0 || this.#isHopeful(nowMs) || this.#retryBudget.take(this.#query.alias, nowMs);
  }

  #isHopeful(nowMs: number): boolean {
    for (const { unfit, lanes } of this.#choices) {
      if (unfit !== null) continue;
      for (const { state } of lanes) if (hopeOf(state, 'lately', nowMs) >= hopefulShare) return true;
    }
    return false;
  }

  #begin(choice: Choice, as: NonNullable<Choice['picked']>, delayMs: number, nowMs: number): LiveAttempt {
    const lane = choice.lane!;
    const attempt = new LiveAttempt(this.#attempts.length + 1, choice, lane, nowMs + delayMs);
    this.#attempts.push(attempt);
    choice.running++;
    attempt.probe = this.#health.began(lane, attempt, choice.target.timeouts.totalMs + delayMs, nowMs) === 'probe';
    if (attempt.probe) this.#probed = true;
    if (this.#waited === 'just now') this.#waited = 'before';
    choice.picked = attempt.probe ? 'picked as a probe' : as;
    return attempt;
  }

  #backoffMs(): number {
    return backoffMs(this.#repeats++, this.#random);
  }

  #waitOrGiveUp(nowMs: number): RouteStep {
    if (this.#choices.every((choice) => choice.unfit !== null)) {
      return { kind: 'exhausted', soonestMs: null, reason: 'no-capable-target', unmet: unmetNeeds(this.#choices) };
    }
    const soonestMs = this.#soonestMs(nowMs);
    if (this.#waited === 'not yet' && soonestMs !== null && soonestMs <= waitForTargetMaxMs) {
      this.#waited = 'just now';
      return { kind: 'wait', ms: soonestMs };
    }
    return { kind: 'exhausted', soonestMs, reason: 'unavailable', unmet: [] };
  }

  #exhausted(reason: ExhaustedReason, nowMs: number): RouteStep {
    const soonestMs = reason === 'caller-fault' ? null : this.#soonestMs(nowMs);
    return { kind: 'exhausted', soonestMs, reason, unmet: [] };
  }

  /** Whole ms until a capable lane could be tried; null when there is none, or one can be already. */
  #soonestMs(nowMs: number): number | null {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const choice of this.#choices) {
      if (choice.unfit !== null) continue;
      for (const lane of choice.lanes) soonestMs = Math.min(soonestMs, triableAtMs(lane, nowMs) - nowMs);
    }
    return soonestMs > 0 && soonestMs < Number.POSITIVE_INFINITY ? Math.ceil(soonestMs) : null;
  }
}

/** Ends after which another credential of the same target is another choice. */
function concernsCredential(outcome: OutcomeClass): boolean {
  return outcome === 'rate_limited' || outcome === 'quota_exhausted' || outcome === 'bad_credential';
}

const firstMs = 100;
const capMs = 2_000;

/** Pause before a target is asked again: 100 ms doubling to 2 s, of which a random half to whole is waited. */
function backoffMs(repeats: number, random: Random): number {
  const wholeMs = Math.min(capMs, firstMs * 2 ** repeats);
  return Math.round(wholeMs * (0.5 + random.next() / 2));
}
