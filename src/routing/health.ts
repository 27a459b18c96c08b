import type { Clock } from '../kernel/clock.ts';
import { afterEvent, type BreakerState, isDue, isRamping, isRest, type OpenReason } from './breaker.ts';
import { cool } from './cooling.ts';
import { targetIdIn } from './derived-targets.ts';
import { effects } from './effects.ts';
import { type HealthSnapshot, type ModelStatus, modelStatusOf, snapshotOf } from './health-snapshot.ts';
import {
  type AnswerKind,
  type CredentialState,
  type Lane,
  type LaneState,
  newCredentialState,
  newLaneState,
  newMinuteCount,
  paceOf,
  UsualTime,
} from './lane.ts';
import { hashText } from './pick.ts';
import { coolingMs } from './retry-after.ts';
import { newOutcomeCount } from './rolling-counts.ts';
import type { AttemptEnd } from './route.ts';
import type { Target } from './target.ts';

/**
 * Lanes remembered. Patterns let callers name models, so they are bounded: at the bound the oldest idle sixteenth
 * is forgotten, which at worst sends one request to a target that was open.
 */
export const lanesMax = 4_096;
/** How long past a target's total timeout a probe may go untold before its slot is free again. */
const probeLostSlackMs = 5_000;
/** Requests in a row whose connection failed: as good as dead. */
const unreachableInRowMax = 3;
/** Answers in a row that broke after their first content, which costs each caller the answer; while it comes back, one. */
const brokenInRowMax = 3;
/** This many requests must have ended before a target is as good as dead; fewer while it comes back. */
const deadRequestsMin = 10;
const rampRequestsMin = 3;

/**
 * Health of every upstream, shared by all requests of the process; it survives configuration reloads. All times are
 * monotonic ms, given by the caller.
 */
export type Health = Pick<LiveHealth, keyof LiveHealth>;

export interface LaneEnd extends Pick<AttemptEnd, 'class' | 'retryAfterMs' | 'lost' | 'message'> {
  /** Ms from dispatch to this end. */
  afterMs: number;
  /** Whether `firstToken` was called. */
  content: 'seen' | 'none';
  /** Key identity of the request. */
  tenant: string;
  /** The request failed here before: it counts at most one failure against a target. */
  repeated?: boolean;
}

/** A lane at rest, while a cheap call finds out whether it is over. */
export type RestLook = ReturnType<typeof lookAt>;

/** Knows nothing yet: every target counts as healthy until an attempt says otherwise. */
export function createHealth({ clock }: { clock: Clock }): Health {
  return new LiveHealth(clock);
}

class LiveHealth {
  readonly #clock: Clock;
  readonly #states = new Map<string, LaneState>();
  /** Ids of targets with states. Of 10,000 targets few were tried: the others are passed over. */
  #tried = new Set<string>();
  readonly #credentials = new Map<string, CredentialState>();
  #views = new WeakMap<Target, readonly Lane[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One lane a credential, in the target's order; made at first sight. */
  lanes(target: Target): readonly Lane[] {
    let view = this.#views.get(target);
    if (view === undefined) {
      const { maxFirstTokenMs } = target;
      view = target.credentials.map((credential) => {
        const state = this.stateOf(target.healthId ?? target.id, credential.id);
        const pace = maxFirstTokenMs === undefined ? null : paceOf(state, maxFirstTokenMs);
        return { state, credential, weight: credential.weight, key: hashText(credential.id), pace };
      });
      this.#views.set(target, view);
    }
    return view;
  }

  /** An attempt is about to be dispatched. `probe` when it tests an open lane; `attempt` is the probe's owner. */
  began(lane: Lane, attempt: object, totalTimeoutMs: number, nowMs: number): 'request' | 'probe' {
    const { state } = lane;
    state.inFlight++;
    state.awaiting++;
    if (lane.credential.rpm !== null) {
      state.ofCredential.carried ??= newMinuteCount();
      state.ofCredential.carried.add(nowMs);
    }
    if (state.breaker.at === 'closed' || !isDue(state.breaker, nowMs)) return 'request';
    state.spared = 0;
    const lostAtMs = nowMs + totalTimeoutMs + probeLostSlackMs;
    state.breaker = afterEvent(state.breaker, { type: 'probe-began', owner: attempt, lostAtMs }, nowMs);
    return 'probe';
  }

  /** First content after `firstTokenMs`. */
  firstToken({ state }: Lane, attempt: object, kind: AnswerKind, firstTokenMs: number, nowMs: number): void {
    state.awaiting--;
    state.respondedAtMs = nowMs;
    state.firstToken.observe(firstTokenMs, nowMs);
    state.usual[kind] ??= new UsualTime();
    state.usual[kind].observe(firstTokenMs, nowMs);
    if (state.breaker.at !== 'closed' && isOwner(state.breaker, attempt))
      state.breaker = afterEvent(state.breaker, { type: 'probe-spoke' }, nowMs);
  }

  /** Exactly once for each `began`. */
  ended({ state }: Lane, attempt: object, end: LaneEnd, nowMs: number): void {
    state.inFlight--;
    if (end.content === 'none') {
      state.awaiting--;
      // It was at least that slow, and would otherwise look as fast as before.
      if (end.class === 'stall_first_token' || end.lost === true) state.firstToken.observe(end.afterMs, nowMs);
    }
    const effect = effects[end.class];
    if (effect.responded) state.respondedAtMs = nowMs;
    const isProbeOwner = state.breaker.at !== 'closed' && isOwner(state.breaker, attempt);
    if (effect.health === 'ok') succeeded(state, end, isProbeOwner, nowMs);
    else if (effect.health === 'failed') failed(state, end, isProbeOwner, nowMs);
    else endedNeutrally(state, end, effect.rest, isProbeOwner, nowMs);
  }

  /**
   * An answer has stopped after its first content for far longer than usual: it counts as failed before any timeout.
   * `repeated`: as in `LaneEnd`.
   */
  stalled({ state }: Lane, attempt: object, seen: { tenant: string; repeated: boolean }, nowMs: number): void {
    if (!seen.repeated) state.share.failed(seen.tenant, nowMs);
    broke(state, seen, nowMs);
    const why = 'streams break off';
    if (isOwner(state.breaker, attempt))
      state.breaker = afterEvent(state.breaker, { type: 'probe-failed', why }, nowMs);
    else if (isAsGoodAsDead(state, why, nowMs))
      state.breaker = afterEvent(state.breaker, { type: 'opened', why }, nowMs);
  }

  /** Requests are in flight, and nothing was heard of any for longer than usual. */
  fellSilent({ state }: Lane, nowMs: number): void {
    state.breaker = afterEvent(
      state.breaker,
      state.breaker.at === 'probing' ? { type: 'probe-failed', why: 'silent' } : { type: 'opened', why: 'silent' },
      nowMs,
    );
  }

  /** An active health check, or a list of models, of the target's provider; a failed check opens it for `forMs`. */
  checked(target: Target, outcome: 'passed' | 'failed', forMs: number, nowMs: number): void {
    if (outcome === 'failed') {
      for (const { state } of this.lanes(target))
        state.breaker = afterEvent(state.breaker, { type: 'opened', why: 'health check failed', forMs }, nowMs);
      return;
    }
    if (!this.#tried.has(target.id)) return;
    for (const { id } of target.credentials) {
      const state = this.#states.get(laneId(target.id, id));
      if (state !== undefined && isReopenedByCheck(state.breaker)) comesBack(state, { type: 'answered' }, nowMs);
    }
  }

  /** Lanes at rest that are due a look by a cheap call; each is being looked at until its `ended` is called. */
  dueLooks(nowMs: number): RestLook[] {
    const looks: RestLook[] = [];
    for (const state of this.#states.values()) {
      const { breaker, room } = state;
      if (room !== null && room.untilMs <= nowMs) state.room = null;
      if (breaker.at === 'closed' || !isDue(breaker, nowMs) || !isRest(breaker.why)) continue;
      looks.push(lookAt(state, breaker.why, nowMs));
    }
    return looks;
  }

  /** After a reload: forgets what none of these targets names. What is known of one in another use stays with it. */
  retain(targets: Iterable<Target>): void {
    const tried = new Set([...this.#tried].flatMap((id) => [id, targetIdIn(id)]));
    const current = new Set<string>();
    for (const target of targets) {
      if (!tried.has(target.id)) continue;
      for (const credential of target.credentials) current.add(laneId(target.id, credential.id));
    }
    for (const [id, { targetId, credentialId }] of this.#states) {
      const isCurrent = current.has(id) || current.has(laneId(targetIdIn(targetId), credentialId));
      if (!isCurrent) this.#states.delete(id);
    }
    this.#forgetUnused();
  }

  /** For a model's `status` and for /readyz; makes no lanes. A target never tried is healthy. */
  status(targets: readonly Target[], nowMs: number): ModelStatus {
    const anyTried = targets.some(({ id }) => this.#tried.has(id));
    if (!anyTried && targets.some(({ credentials }) => credentials.length > 0)) return 'healthy';
    return modelStatusOf(targets, (target, credential) => this.#states.get(laneId(target.id, credential.id)), nowMs);
  }

  snapshot(nowMs: number): HealthSnapshot {
    return snapshotOf(this.#states.values(), nowMs);
  }

  /** The state of every known lane, for hints to other processes. */
  states(): Iterable<LaneState> {
    return this.#states.values();
  }

  /** The wall-clock time of a monotonic one, for people. */
  wallMs(monotonicMs: number): number {
    return monotonicMs + this.#clock.wallMs() - this.#clock.monotonicMs();
  }

  /** Made at first sight. */
  stateOf(targetId: string, credentialId: string): LaneState {
    const id = laneId(targetId, credentialId);
    let state = this.#states.get(id);
    if (state === undefined) {
      if (this.#states.size >= lanesMax) this.#forgetOldest();
      let credential = this.#credentials.get(credentialId);
      if (credential === undefined) {
        credential = newCredentialState();
        this.#credentials.set(credentialId, credential);
      }
      state = newLaneState(targetId, credentialId, credential);
      this.#states.set(id, state);
      this.#tried.add(targetId);
    }
    return state;
  }

  #forgetOldest(): void {
    let surplus = lanesMax / 16;
    for (const [id, state] of this.#states) {
      if (surplus === 0) break;
      if (state.inFlight > 0) continue;
      this.#states.delete(id);
      surplus--;
    }
    // All busy: the oldest goes nevertheless; its running attempts still hold its state.
    if (surplus === lanesMax / 16) this.#states.delete(this.#states.keys().next().value!);
    this.#forgetUnused();
  }

  #forgetUnused(): void {
    const credentials = new Set([...this.#states.values()].map((state) => state.credentialId));
    for (const id of this.#credentials.keys()) if (!credentials.has(id)) this.#credentials.delete(id);
    this.#tried = new Set([...this.#states.values()].map((state) => state.targetId));
    this.#views = new WeakMap();
  }
}

function succeeded(state: LaneState, end: LaneEnd, isProbeOwner: boolean, nowMs: number): void {
  const { breaker } = state;
  state.unreachableInRow = 0;
  state.brokenInRow = 0;
  // An attempt that began before it was opened says nothing of now.
  if (isProbeOwner) comesBack(state, { type: 'probe-passed' }, nowMs);
  else if ((breaker.at === 'open' || breaker.at === 'probing') && nowMs - end.afterMs >= breaker.sinceMs)
    comesBack(state, { type: 'answered' }, nowMs);
  state.share.succeeded(end.tenant, nowMs);
}

function failed(state: LaneState, end: LaneEnd, isProbeOwner: boolean, nowMs: number): void {
  const unreachable = end.class === 'unreachable';
  const broken = end.content === 'seen';
  if (unreachable) state.unreachableAtMs = nowMs;
  else state.unreachableInRow = 0;
  state.share.missed(nowMs);
  if (end.repeated !== true) {
    state.share.failed(end.tenant, nowMs);
    if (unreachable) state.unreachableInRow++;
  }
  if (broken) broke(state, { tenant: end.tenant, repeated: end.repeated === true }, nowMs);
  const why = unreachable ? 'unreachable' : broken ? 'streams break off' : 'failing';
  if (isProbeOwner) state.breaker = afterEvent(state.breaker, { type: 'probe-failed', why }, nowMs);
  else if (isAsGoodAsDead(state, why, nowMs)) state.breaker = afterEvent(state.breaker, { type: 'opened', why }, nowMs);
}

/** An answer broke after its first content. What follows a tenant says nothing of the target. */
function broke(state: LaneState, { tenant, repeated }: { tenant: string; repeated: boolean }, nowMs: number): void {
  if (repeated || state.share.followsTenant(tenant, nowMs)) return;
  state.brokenInRow++;
  state.broken ??= newOutcomeCount();
  state.broken.add(nowMs);
}

function endedNeutrally(
  state: LaneState,
  end: LaneEnd,
  rest: OpenReason | null,
  isProbeOwner: boolean,
  nowMs: number,
): void {
  if (end.class === 'rate_limited') {
    const message = end.message === undefined ? null : { text: end.message, tenant: end.tenant };
    cool(state, nowMs + coolingMs(end.retryAfterMs), message, nowMs);
  }
  if (rest !== null) {
    const type = isProbeOwner ? 'probe-failed' : 'opened';
    state.breaker = afterEvent(state.breaker, { type, why: rest }, nowMs);
  } else if (isProbeOwner) {
    // It showed nothing, so the next request may try; unless it was given up for its silence.
    const freed =
      end.lost === true ? ({ type: 'probe-failed', why: 'silent' } as const) : ({ type: 'probe-freed' } as const);
    state.breaker = afterEvent(state.breaker, freed, nowMs);
  }
}

function isAsGoodAsDead(state: LaneState, why: OpenReason, nowMs: number): boolean {
  if (state.unreachableInRow >= unreachableInRowMax || state.brokenInRow >= brokenInRowMax) return true;
  if (!isRamping(state.breaker, nowMs)) return state.share.isDead(deadRequestsMin, nowMs);
  return why === 'unreachable' || state.brokenInRow > 0 || state.share.isDead(rampRequestsMin, nowMs);
}

/** By a ramp, and with a fresh start: the failures that opened it would open it again at the next one. */
export function comesBack(state: LaneState, event: { type: 'probe-passed' | 'answered' }, nowMs: number): void {
  const before = state.breaker;
  state.breaker = afterEvent(before, event, nowMs);
  if (state.breaker === before) return;
  state.share.clear();
  state.unreachableInRow = 0;
  state.brokenInRow = 0;
}

/** A check knows that the service answers: not that it answers this, nor whom, nor to the end. */
function isReopenedByCheck(breaker: BreakerState): boolean {
  if (breaker.at !== 'open' && breaker.at !== 'probing') return false;
  return breaker.why !== 'silent' && breaker.why !== 'streams break off' && !isRest(breaker.why);
}

function lookAt(state: LaneState, why: OpenReason, nowMs: number) {
  const owner = {};
  const began = { type: 'probe-began', owner, lostAtMs: nowMs + probeLostSlackMs * 6 } as const;
  state.breaker = afterEvent(state.breaker, began, nowMs);
  return {
    targetId: state.targetId,
    credentialId: state.credentialId,
    why,
    /** `unknown`: the call showed nothing, the next request may try. */
    ended(found: 'over' | 'goes on' | 'unknown', endMs: number) {
      if (!isOwner(state.breaker, owner)) return;
      if (found === 'over') comesBack(state, { type: 'probe-passed' }, endMs);
      else if (found === 'goes on') state.breaker = afterEvent(state.breaker, { type: 'probe-failed', why }, endMs);
      else state.breaker = afterEvent(state.breaker, { type: 'probe-freed' }, endMs);
    },
  };
}

function isOwner(breaker: BreakerState, attempt: object): boolean {
  return breaker.at === 'probing' && breaker.owner === attempt;
}

function laneId(targetId: string, credentialId: string): string {
  return `${targetId} ${credentialId}`;
}
