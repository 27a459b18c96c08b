import type { Clock } from '../../kernel/clock.ts';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { hashText } from './affinity.ts';
import { afterEvent, type BreakerEvent, type BreakerState, closed } from './breaker.ts';
import { cooledUntilMs, healthOf, tripOf, trippedForMs } from './cooldown.ts';
import { type HealthSnapshot, type ModelStatus, modelStatusOf, snapshotOf } from './health-snapshot.ts';
import {
  type CredentialState,
  type Lane,
  type LaneState,
  type ModelState,
  newLaneState,
  newMinuteCount,
} from './lane.ts';
import type { Target } from './target.ts';

/**
 * Lanes remembered. Patterns let callers name models, so they are bounded: at the bound the oldest idle sixteenth
 * is forgotten, which at worst sends one request to a target that was open.
 */
export const lanesMax = 4_096;
/** How long past a target's total timeout a probe may go untold before its slot is free again. */
const probeLostSlackMs = 5_000;

/**
 * What is known of every upstream, shared by all requests of the process; lives through configuration reloads.
 * All times are monotonic ms, given by the caller.
 */
export interface Health {
  /** One lane a credential, in the target's order; made at first sight. */
  lanes(target: Target): readonly Lane[];
  /** An attempt is about to be dispatched. `probe` when it tests what is open; `attempt` is the probe's owner. */
  began(lane: Lane, attempt: object, totalTimeoutMs: number, nowMs: number): 'request' | 'probe';
  /** First content after `firstTokenMs`. A probe has passed with it: a stream may last for minutes. */
  firstToken(lane: Lane, attempt: object, firstTokenMs: number, nowMs: number): void;
  /** Exactly once for each `began`. */
  ended(lane: Lane, attempt: object, end: LaneEnd, nowMs: number): void;
  /** An active health check of the target's provider: a failed one opens the target for `forMs`. */
  checked(target: Target, outcome: 'passed' | 'failed', forMs: number, nowMs: number): void;
  /** After a reload: forgets what none of these targets names. */
  retain(targets: Iterable<Target>): void;
  /** For a model's `status` and for /readyz; makes no lanes. A target never tried is healthy. */
  status(targets: readonly Target[], nowMs: number): ModelStatus;
  snapshot(nowMs: number): HealthSnapshot;
  /** The wall-clock time of a monotonic one, for people. */
  wallMs(monotonicMs: number): number;
}

export interface LaneEnd {
  class: OutcomeClass;
  retryAfterMs: number | null;
  /** Ms from dispatch to this end. */
  afterMs: number;
  /** Whether `firstToken` was told. */
  content: 'seen' | 'none';
}

/** Knows nothing yet: every target counts as healthy until an attempt says otherwise. */
export function createHealth(options: { clock: Clock }): Health {
  const { clock } = options;
  const states = new Map<string, LaneState>();
  const credentials = new Map<string, CredentialState>();
  const models = new Map<string, ModelState>();
  let views = new WeakMap<Target, readonly Lane[]>();

  function lanes(target: Target): readonly Lane[] {
    let view = views.get(target);
    if (view === undefined) {
      view = target.credentials.map((credential) => ({
        state: stateOf(target.healthId ?? target.id, credential.id),
        credential,
        weight: credential.weight,
        key: hashText(credential.id),
      }));
      views.set(target, view);
    }
    return view;
  }

  function stateOf(targetId: string, credentialId: string): LaneState {
    const id = laneId(targetId, credentialId);
    let state = states.get(id);
    if (state === undefined) {
      if (states.size >= lanesMax) forgetOldest();
      const credential = remembered(credentials, credentialId, newCredential);
      state = newLaneState(targetId, credentialId, credential, remembered(models, targetId, newModel));
      states.set(id, state);
    }
    return state;
  }

  function forgetOldest(): void {
    let surplus = lanesMax / 16;
    for (const [id, state] of states) {
      if (surplus === 0) break;
      if (state.inFlight > 0) continue;
      states.delete(id);
      surplus--;
    }
    // All busy: the oldest goes nevertheless; its running attempts still hold its state.
    if (surplus === lanesMax / 16) states.delete(states.keys().next().value!);
    forgetUnused();
  }

  function forgetUnused(): void {
    const live = [...states.values()];
    keepOnly(credentials, new Set(live.map((state) => state.credentialId)));
    keepOnly(models, new Set(live.map((state) => state.targetId)));
    views = new WeakMap();
  }

  return {
    lanes,
    began(lane, attempt, totalTimeoutMs, nowMs) {
      const { state } = lane;
      state.inFlight++;
      state.awaiting++;
      if (lane.credential.rpm !== null) {
        state.ofCredential.carried ??= newMinuteCount();
        state.ofCredential.carried.add(nowMs);
      }
      if (allClosed(state)) return 'request';
      const event: BreakerEvent = {
        type: 'probe-began',
        owner: attempt,
        lostAtMs: nowMs + totalTimeoutMs + probeLostSlackMs,
      };
      moveAll(state, event, nowMs);
      return owns(state, attempt) ? 'probe' : 'request';
    },
    firstToken(lane, attempt, firstTokenMs, nowMs) {
      const { state } = lane;
      state.awaiting--;
      state.firstToken.observe(firstTokenMs, nowMs);
      if (!allClosed(state)) probePassed(state, attempt, nowMs);
    },
    ended(lane, attempt, end, nowMs) {
      const { state } = lane;
      state.inFlight--;
      if (end.content === 'none') {
        state.awaiting--;
        // It was at least that slow, and would otherwise look as fast as before.
        if (end.class === 'stall_first_token') state.firstToken.observe(end.afterMs, nowMs);
      }
      learn(state, attempt, end, nowMs);
    },
    checked(target, outcome, forMs, nowMs) {
      const event: BreakerEvent =
        outcome === 'passed' ? { type: 'check-passed' } : { type: 'tripped', forMs, why: 'health check failed' };
      // All lanes of a target share its model's breaker.
      const scope = lanes(target)[0]?.state.ofModel;
      if (scope !== undefined) scope.breaker = afterEvent(scope.breaker, event, nowMs);
    },
    retain(targets) {
      const kept = new Set<string>();
      for (const target of targets) {
        for (const credential of target.credentials) kept.add(laneId(target.id, credential.id));
      }
      keepOnly(states, kept);
      forgetUnused();
    },
    status: (targets, nowMs) =>
      modelStatusOf(targets, (target, credential) => states.get(laneId(target.id, credential.id)), nowMs),
    snapshot: (nowMs) => snapshotOf(states.values(), nowMs),
    wallMs: (monotonicMs) => monotonicMs + clock.wallMs() - clock.monotonicMs(),
  };
}

function learn(state: LaneState, attempt: object, end: LaneEnd, nowMs: number): void {
  const health = healthOf(end.class);
  if (health === 'ok') {
    state.succeeded.add(nowMs);
    if (!allClosed(state)) probePassed(state, attempt, nowMs);
    // A stream begun before the last failure and ending well says nothing of who asks now: it breaks no row.
    else if (nowMs - end.afterMs >= state.lastFailedMs) state.breaker = afterEvent(state.breaker, succeeded, nowMs);
    return;
  }
  if (health === 'failed') {
    state.failed.add(nowMs);
    state.lastFailedMs = nowMs;
    const failures = state.failed.total(nowMs);
    const failed: BreakerEvent = { type: 'failed', failures, total: failures + state.succeeded.total(nowMs) };
    state.breaker = afterEvent(state.breaker, isOwner(state.breaker, attempt) ? probeFailed : failed, nowMs);
  }
  if (end.class === 'rate_limited') {
    const { ofCredential } = state;
    ofCredential.coolingUntilMs = cooledUntilMs(ofCredential.coolingUntilMs, end.retryAfterMs, nowMs);
  }
  const trip = tripOf(end.class);
  if (trip !== null) {
    const scope = trip.scope === 'credential' ? state.ofCredential : state.ofModel;
    scope.breaker = afterEvent(scope.breaker, { type: 'tripped', forMs: trippedForMs, why: trip.why }, nowMs);
  }
  // What else this attempt was probing is no wiser: the next request may try.
  if (!allClosed(state) && owns(state, attempt)) moveOwned(state, attempt, probeFreed, nowMs);
}

const succeeded: BreakerEvent = { type: 'succeeded' };
const probeSucceeded: BreakerEvent = { type: 'probe-succeeded' };
const probeFailed: BreakerEvent = { type: 'probe-failed' };
const probeFreed: BreakerEvent = { type: 'probe-freed' };

function probePassed(state: LaneState, attempt: object, nowMs: number): void {
  // A fresh start: the failures that opened it would open it again at the next one.
  if (isOwner(state.breaker, attempt)) {
    state.succeeded.clear();
    state.failed.clear();
  }
  moveOwned(state, attempt, probeSucceeded, nowMs);
}

function moveAll(state: LaneState, event: BreakerEvent, nowMs: number): void {
  state.breaker = afterEvent(state.breaker, event, nowMs);
  state.ofCredential.breaker = afterEvent(state.ofCredential.breaker, event, nowMs);
  state.ofModel.breaker = afterEvent(state.ofModel.breaker, event, nowMs);
}

function moveOwned(state: LaneState, attempt: object, event: BreakerEvent, nowMs: number): void {
  for (const scope of [state, state.ofCredential, state.ofModel]) {
    if (isOwner(scope.breaker, attempt)) scope.breaker = afterEvent(scope.breaker, event, nowMs);
  }
}

function isOwner(breaker: BreakerState, attempt: object): boolean {
  return breaker.at === 'probing' && breaker.owner === attempt;
}

function owns(state: LaneState, attempt: object): boolean {
  return (
    isOwner(state.breaker, attempt) ||
    isOwner(state.ofCredential.breaker, attempt) ||
    isOwner(state.ofModel.breaker, attempt)
  );
}

/** The common case; a lane that only has failures in a row is closed too. */
function allClosed(state: LaneState): boolean {
  return (
    state.breaker.at === 'closed' && state.ofCredential.breaker.at === 'closed' && state.ofModel.breaker.at === 'closed'
  );
}

function laneId(targetId: string, credentialId: string): string {
  return `${targetId} ${credentialId}`;
}

function newCredential(): CredentialState {
  return { breaker: closed, coolingUntilMs: 0, carried: null };
}

function newModel(): ModelState {
  return { breaker: closed };
}

function remembered<T>(map: Map<string, T>, id: string, make: () => T): T {
  let value = map.get(id);
  if (value === undefined) {
    value = make();
    map.set(id, value);
  }
  return value;
}

function keepOnly(map: Map<string, unknown>, ids: ReadonlySet<string>): void {
  for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}
