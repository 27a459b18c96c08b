import type { TooLong } from '../formats/neutral/outcome.ts';
import { backoffMs } from '../kernel/backoff.ts';
import { waitForTargetMaxMs } from '../kernel/limits.ts';
import type { Random } from '../kernel/random.ts';
import { type Choice, choicesOf, dialectFor } from './capability.ts';
import { effects } from './effects.ts';
import type { Health } from './health.ts';
import { answerKindOf, isAtRest, type Lane, type LaneState, sparedMax, standingOf } from './lane.ts';
import { affinityOf, pick, warmEqualFactor } from './pick.ts';
import type { RetryBudget } from './rolling-counts.ts';
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
import {
  blockedReason,
  type Draw,
  isHopeful,
  leastBad,
  preferredChoices,
  type Survey,
  type SurveyScope,
  soonestMs,
  survey,
  unmetNeeds,
  upstreamLimits,
} from './survey.ts';
import { forgetOutgrown, learnRoom, leaveOutNoLarger } from './too-long.ts';

export interface RouteDeps {
  health: Health;
  retryBudget: RetryBudget;
  random: Random;
  /** Monotonic ms, like every time that the route is given later. */
  nowMs: number;
}

/** Attempts of a request whose failures follow its tenant. */
const followingAttemptsMax = 2;
const repeatPauses = { firstMs: 100, maxMs: 2_000 };

/** Begins one request's route and counts the request in its alias's retry budget. */
export function createRoute(query: RouteQuery, deps: RouteDeps): Route {
  deps.retryBudget.requested(query.alias, deps.nowMs);
  return new LiveRoute(query, deps);
}

/** An attempt as its route keeps it. */
interface LiveAttempt extends RouteAttempt {
  readonly choice: Choice;
  content: 'seen' | 'none';
  at: 'running' | 'ended';
}

class LiveRoute implements Route {
  readonly #query: RouteQuery;
  readonly #deps: RouteDeps;
  readonly #choices: readonly Choice[];
  #draw: Draw | null = null;
  /** Attempts, without those that found out what their target cannot do. */
  #made = 0;
  #attemptsMax: number;
  #repeats = 0;
  #probed = false;
  /** An answer is held back for a better one: each target is asked once. */
  #climbs = false;
  #waited: 'not yet' | 'just now' | 'before' = 'not yet';
  /** A repeat has waited for its turn, and its token of the retry budget is taken. */
  #paused = false;
  /** A target refused the prompt for its length or content: that is the answer, unless another gives a better one. */
  #refused = false;
  #lacked = false;
  /** A caller fault of a target that got the request converted: a target that reads it unchanged is asked once. */
  #secondOpinion: 'none' | 'wanted' | 'asked' = 'none';
  #over: ExhaustedReason | null = null;

  constructor(query: RouteQuery, deps: RouteDeps) {
    this.#query = query;
    this.#deps = deps;
    this.#attemptsMax = query.fallback === 'off' ? 1 : query.attemptsMax;
    this.#choices = choicesOf(query, deps.health);
  }

  next(nowMs: number): RouteStep {
    if (this.#over !== null) return this.#exhausted(this.#over, nowMs);
    if (this.#secondOpinion === 'wanted') return this.#askSecondOpinion(nowMs);
    if (this.#made >= this.#attemptsMax) return this.#exhausted('attempts-spent', nowMs);
    const first = this.#choices[0];
    // One target with one credential, ready: nothing to survey, the commonest case.
    if (this.#choices.length === 1 && this.#made === 0 && first?.unfit === null && first.lanes.length === 1) {
      const lane = first.lanes[0];
      if (lane !== undefined && standingOf(lane, nowMs) === 'ready') {
        return { kind: 'attempt', attempt: this.#begin(first, lane, 'picked', 0, nowMs), delayMs: 0 };
      }
    }
    const fresh = this.#choose(this.#survey(this.#made === 0 ? 'first' : 'fresh', nowMs), nowMs);
    if (fresh !== null) return this.#attempt(fresh, 'picked', nowMs);
    const again = this.#climbs ? null : leastBad(this.#choices, nowMs);
    return again === null ? this.#waitOrGiveUp(nowMs) : this.#attempt(again, 'picked as the least bad', nowMs);
  }

  hedge(reason: HedgeReason, nowMs: number): RouteAttempt | null {
    if (this.#over !== null || this.#made >= this.#attemptsMax) return null;
    const { ready } = this.#survey('fresh', nowMs);
    if (ready.length === 0) return null;
    const { alias, hedge } = this.#query;
    const choice = this.#pick(ready, nowMs);
    // Where the other one is slow as well, asking both helps few.
    const isLimited = reason === 'slow' || (reason === 'late' && choice.lane!.pace?.isBehind('stream', nowMs) === true);
    if (isLimited && !this.#deps.retryBudget.takeHedge(alias, hedge.atMost, nowMs)) return null;
    return this.#begin(choice, choice.lane!, 'picked as a hedge', 0, nowMs);
  }

  ended(attempt: LiveAttempt, end: AttemptEnd, nowMs: number): void {
    if (attempt.at === 'ended') return;
    attempt.at = 'ended';
    const { choice, lane, content } = attempt;
    if (end.class === 'ok' && lane.state.room !== null) forgetOutgrown(choice.lanes, this.#query.needs);
    this.#deps.health.ended(
      lane,
      attempt,
      {
        class: end.class,
        retryAfterMs: end.retryAfterMs,
        afterMs: Math.max(0, nowMs - attempt.startedMs),
        content,
        tenant: this.#query.tenant,
        repeated: choice.blamed,
        lost: end.lost === true,
        ...(end.message !== undefined && { message: end.message }),
      },
      nowMs,
    );
    // It was at least that slow.
    if (content === 'none' && end.lost === true && this.#query.needs.stream)
      lane.pace?.observe(nowMs - attempt.startedMs, nowMs);
    choice.running--;
    if (end.class === 'ok' || end.class === 'cancelled' || end.class === 'deadline') this.#over = 'attempts-spent';
    else this.#failed(attempt, end, nowMs);
  }

  firstToken(attempt: LiveAttempt, nowMs: number): void {
    if (attempt.at === 'ended' || attempt.content === 'seen') return;
    attempt.content = 'seen';
    const tookMs = Math.max(0, nowMs - attempt.startedMs);
    const { needs } = this.#query;
    const kind = needs.stream ? 'stream' : answerKindOf(needs);
    this.#deps.health.firstToken(attempt.lane, attempt, kind, tookMs, nowMs);
    if (kind === 'stream') attempt.lane.pace?.observe(tookMs, nowMs);
  }

  stalled(attempt: LiveAttempt, nowMs: number): void {
    if (attempt.at === 'ended') return;
    const { choice, lane } = attempt;
    this.#deps.health.stalled(lane, attempt, { tenant: this.#query.tenant, repeated: choice.blamed }, nowMs);
    choice.blamed = true;
  }

  verdicts(): readonly Verdict[] {
    const verdicts: Verdict[] = [];
    for (const { target, picked, unfit, blocked } of this.#choices) {
      const why = picked ?? unfit ?? (blocked === null ? 'not needed' : blockedReason(blocked, this.#deps.health));
      verdicts.push({ target: target.id, verdict: why });
    }
    return this.#query.barred === undefined ? verdicts : [...verdicts, ...this.#query.barred];
  }

  untried(): boolean {
    return this.#choices.some(({ unfit, tries, lanes }) => unfit === null && tries === 0 && !lanes.every(isAtRest));
  }

  /** Draws the consequences of an attempt without an answer for the next ones. */
  #failed({ choice, lane, target, probe }: LiveAttempt, end: AttemptEnd, nowMs: number): void {
    const { callerDialect, tenant } = this.#query;
    const effect = effects[end.class];
    if (effect.health === 'failed') {
      choice.blamed = true;
      choice.awayUntilMs = nowMs + (end.retryAfterMs ?? 0);
    }
    if (end.class === 'low_quality') this.#climbs = true;
    // This tenant's request fails where those of others are served: one look elsewhere is enough.
    if (end.class === 'transient' && lane.state.share.followsTenant(tenant, nowMs))
      this.#attemptsMax = Math.min(this.#attemptsMax, followingAttemptsMax);
    if (end.class === 'not_capable') {
      this.#withdraw(choice, end.unmet ?? null);
    } else {
      choice.tried ??= [];
      choice.tried.push(lane);
      choice.tries++;
      choice.repeatHope *= effect.repeatHope;
      if (!effect.ofCredential && !probe) choice.spent = true;
    }
    if (end.class === 'too_long') return this.#needsMoreRoom(choice, end.tooLong, nowMs);
    const converted = dialectFor(target, callerDialect) !== callerDialect;
    if (end.class === 'filtered' && this.#query.onFilter === 'next') {
      this.#refused = true;
      choice.unfit = 'it refused the content';
    } else if (end.lacks === true) {
      this.#lacked = true;
      choice.unfit = 'it lacks what is asked for';
    } else if (end.class === 'caller_credential') {
      this.#refused = true;
      choice.unfit = "it refused the caller's own credential";
    } else if (end.class !== 'caller_fault' && end.class !== 'filtered') {
      if (this.#secondOpinion === 'asked') this.#over = 'caller-fault';
    } else if (converted && (end.status ?? 400) === 400 && this.#secondOpinion === 'none') {
      this.#secondOpinion = 'wanted';
    } else {
      this.#over = 'caller-fault';
    }
  }

  /** Each target that may have more room is asked once, however many attempts that takes. */
  #needsMoreRoom(refused: Choice, tooLong: TooLong | undefined, nowMs: number): void {
    this.#refused = true;
    leaveOutNoLarger(this.#choices, refused, tooLong);
    learnRoom(refused.lanes, this.#query.needs, tooLong, nowMs);
    if (this.#query.fallback === 'allowed') this.#attemptsMax++;
  }

  /**
   * Takes the choice out without counting the attempt, as if it had been filtered. For something that its dialect
   * cannot express (`unmet` is null), all targets of that dialect go with it.
   */
  #withdraw(withdrawn: Choice, unmet: string | null): void {
    const { callerDialect } = this.#query;
    const dialect = dialectFor(withdrawn.target, callerDialect);
    if (unmet !== null) withdrawn.cannot(unmet);
    for (const choice of unmet === null ? this.#choices : []) {
      if (choice.unfit === null && dialectFor(choice.target, callerDialect) === dialect) {
        choice.cannot(`asked this in ${dialect}`);
      }
    }
    withdrawn.picked = null;
    this.#made--;
  }

  #askSecondOpinion(nowMs: number): RouteStep {
    if (this.#made < this.#attemptsMax) {
      const { ready } = this.#survey('own-dialect', nowMs);
      if (ready.length > 0 && this.#hasBudget(nowMs)) {
        this.#secondOpinion = 'asked';
        const choice = this.#pick(ready, nowMs);
        return { kind: 'attempt', attempt: this.#begin(choice, choice.lane!, 'picked', 0, nowMs), delayMs: 0 };
      }
    }
    this.#over = 'caller-fault';
    return this.#exhausted('caller-fault', nowMs);
  }

  #survey(scope: SurveyScope, nowMs: number): Survey {
    // Hashing a conversation's beginning costs more than all else here: only where there is something to pick.
    const { tenant, conversation, staysWarm } = this.#query;
    this.#draw ??= {
      affinity: conversation === null ? null : affinityOf(tenant, conversation),
      affinityFactor: staysWarm === true ? warmEqualFactor : undefined,
      random: this.#deps.random,
    };
    return survey(this.#choices, scope, this.#query, this.#draw, nowMs);
  }

  #pick(ready: readonly Choice[], nowMs: number): Choice {
    const { affinity, affinityFactor, random } = this.#draw!;
    const preferred = preferredChoices(ready, this.#query, affinity, this.#deps.health, nowMs);
    return pick(preferred, affinity, random, nowMs, affinityFactor);
  }

  /**
   * A lane that is due a probe goes before its equals: the first request after its time tests it, once, and can still
   * be served elsewhere if it fails. With nothing else to ask it is the one hope.
   */
  #choose(found: Survey, nowMs: number): Choice | null {
    const { ready, due } = found;
    if (due !== null) {
      const canStillBeServed = !this.#probed && this.#made + 1 < this.#attemptsMax;
      if (ready.length === 0 || (canStillBeServed && !this.#spares(found.dueLane!.state))) {
        due.lane = found.dueLane;
        return due;
      }
    }
    return ready.length === 0 ? null : this.#pick(ready, nowMs);
  }

  /** A probe of streams that broke off may cost its caller the answer: others are served first. */
  #spares(state: LaneState): boolean {
    const { breaker } = state;
    if (breaker.at === 'closed' || breaker.why !== 'streams break off' || state.spared >= sparedMax) return false;
    if (this.#made === 0) state.spared++;
    return true;
  }

  #attempt(choice: Choice, as: 'picked' | 'picked as the least bad', nowMs: number): RouteStep {
    const paused = this.#paused;
    this.#paused = false;
    if (!paused && !this.#hasBudget(nowMs)) return this.#exhausted('retry-budget', nowMs);
    // A wait that just ended was pause enough.
    const isReady = paused || choice.tries === 0 || this.#waited === 'just now';
    const delayMs = isReady ? 0 : this.#pauseMs(choice, nowMs);
    const lane = choice.lane!;
    if (delayMs > 0 && standingOf(lane, nowMs) === 'due') {
      // A probe keeps other requests away from its lane: it begins when it is sent.
      this.#paused = true;
      return { kind: 'wait', ms: delayMs };
    }
    return { kind: 'attempt', attempt: this.#begin(choice, lane, as, delayMs, nowMs), delayMs };
  }

  /**
   * Before a target is asked again: a random half to whole of the pause, so that requests do not come together. It is
   * after the wait that the target asked for, if that is short; a caller does not wait for longer ones.
   */
  #pauseMs({ awayUntilMs }: Choice, nowMs: number): number {
    const leftMs = Math.max(0, awayUntilMs - nowMs);
    const pauseMs = backoffMs(++this.#repeats, repeatPauses) * (0.5 + this.#deps.random.next() / 2);
    return Math.round(leftMs > waitForTargetMaxMs ? pauseMs : leftMs + pauseMs);
  }

  /** The first attempt is free, and so is any other while some target answers. */
  #hasBudget(nowMs: number): boolean {
    return this.#made === 0 || isHopeful(this.#choices, nowMs) || this.#deps.retryBudget.take(this.#query.alias, nowMs);
  }

  #begin(choice: Choice, lane: Lane, as: NonNullable<Choice['picked']>, delayMs: number, nowMs: number): LiveAttempt {
    const { target } = choice;
    const attempt: LiveAttempt = {
      number: ++this.#made,
      target,
      credential: lane.credential,
      lane,
      choice,
      probe: false,
      startedMs: nowMs + delayMs,
      content: 'none',
      at: 'running',
    };
    if (this.#query.needs.stream) lane.pace?.streamSent(nowMs);
    choice.running++;
    choice.picked = as;
    if (this.#deps.health.began(lane, attempt, target.timeouts.totalMs + delayMs, nowMs) === 'probe') {
      attempt.probe = true;
      this.#probed = true;
      choice.picked = 'picked as a probe';
    }
    if (this.#waited === 'just now') this.#waited = 'before';
    return attempt;
  }

  #waitOrGiveUp(nowMs: number): RouteStep {
    if (!this.#refused && !this.#lacked && this.#choices.every((choice) => choice.unfit !== null)) {
      const unmet = unmetNeeds(this.#choices);
      return { kind: 'exhausted', soonestMs: null, reason: 'no-capable-target', unmet, limitedBy: null };
    }
    const waitMs = soonestMs(this.#choices, nowMs);
    if (this.#waited === 'not yet' && waitMs !== null && waitMs <= waitForTargetMaxMs) {
      this.#waited = 'just now';
      return { kind: 'wait', ms: waitMs };
    }
    return this.#exhausted('unavailable', nowMs);
  }

  #exhausted(why: ExhaustedReason, nowMs: number): RouteStep {
    // One that lacks nothing may serve the request later.
    const mayServe = ({ unfit, tries, lanes }: Choice) =>
      unfit === null && (why !== 'attempts-spent' || tries > 0) && !lanes.every(isAtRest);
    const reason = this.#refused || (this.#lacked && !this.#choices.some(mayServe)) ? 'caller-fault' : why;
    const waitMs = reason === 'caller-fault' ? null : soonestMs(this.#choices, nowMs);
    const limitedBy = waitMs === null ? null : upstreamLimits(this.#choices, this.#query.tenant, nowMs);
    return { kind: 'exhausted', soonestMs: waitMs, reason, unmet: [], limitedBy };
  }
}
