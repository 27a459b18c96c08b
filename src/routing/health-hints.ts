import type { Clock } from '../kernel/clock.ts';
import { afterEvent, type BreakerState, closed, type OpenReason } from './breaker.ts';
import { type Cooling, extend } from './cooling.ts';
import { comesBack, type Health } from './health.ts';
import { type AnswerKind, answerKinds, type LaneState, samplesMin, UsualTime } from './lane.ts';

/**
 * Facts that a process has learnt of a lane and gives to the others of its server. Nothing of a request or its tenant is
 * in it. Times are from now on, because each process has another monotonic clock.
 */
export type HealthHint = { target: string; credential: string } & (
  | { kind: 'open'; why: OpenReason; forMs: number }
  /** A probe has passed, so it comes back by a ramp. */
  | { kind: 'back' }
  /** A limit of its credential, or (`of: 'model'`) of this model alone. */
  | { kind: 'cooling'; of?: 'model'; forMs: number }
  /** Its usual time to the first token. */
  | { kind: 'pace'; firstTokenMs: number }
  /** Further samples of its usual time, by bucket of `UsualTime`. */
  | { kind: 'usual'; of: AnswerKind; counts: number[] }
  /** Components of its vectors. */
  | { kind: 'vectors'; length: number }
);

/** Processes that got a hint try the target this much later, so that the first to know makes the probe for all. */
const probeLagMs = 250;
/** A process' own findings of so lately are newer than a hint. */
const localNewsMs = 200;
/** Times of others count where this process has heard nothing of a target for so long. */
const localPaceMs = 10_000;
const paceEveryMs = 2_000;
/** Smaller differences of a time make no hint. */
const paceShare = 0.1;
/** Hints of one look; the rest goes with the next one. */
const hintsMax = 500;

export type HealthHints = ReturnType<typeof createHealthHints>;

/** State as it was last sent or received. */
interface Shared {
  breakers: WeakMap<LaneState, BreakerState>;
  coolings: WeakMap<Cooling, number>;
  paces: WeakMap<LaneState, number>;
  lengths: WeakMap<LaneState, number>;
  /** When samples were last sent. */
  usualAtMs: WeakMap<UsualTime, number>;
  /** When times were last looked at. */
  pacedAtMs: number;
}

/** Looks at `health` from outside: requests do not know of it. */
export function createHealthHints(health: Pick<Health, 'states' | 'stateOf'>, clock: Clock) {
  const shared: Shared = {
    breakers: new WeakMap(),
    coolings: new WeakMap(),
    paces: new WeakMap(),
    lengths: new WeakMap(),
    usualAtMs: new WeakMap(),
    pacedAtMs: Number.NEGATIVE_INFINITY,
  };
  return {
    /** Findings of this process since the last call. */
    news(): HealthHint[] {
      const nowMs = clock.monotonicMs();
      const paced = nowMs - shared.pacedAtMs >= paceEveryMs;
      const hints: HealthHint[] = [];
      for (const state of health.states()) {
        if (hints.length >= hintsMax) return hints;
        const of = { target: state.targetId, credential: state.credentialId };
        const found = [
          newBreaker(state, shared, nowMs),
          newCooling(state, shared, { of: 'model' }, nowMs),
          newCooling(state.ofCredential, shared, {}, nowMs),
          paced ? newPace(state, shared) : null,
          newLength(state, shared),
          ...newUsual(state, shared, nowMs),
        ];
        for (const hint of found) if (hint !== null) hints.push({ ...of, ...hint });
      }
      if (paced) shared.pacedAtMs = nowMs;
      return hints;
    },
    receive(hints: readonly HealthHint[]): void {
      const nowMs = clock.monotonicMs();
      for (const hint of hints) receiveOne(hint, health.stateOf(hint.target, hint.credential), shared, nowMs);
    },
  };
}

type News = { kind: 'open'; why: OpenReason; forMs: number } | { kind: 'back' };

function newBreaker(state: LaneState, { breakers }: Shared, nowMs: number): News | null {
  const { breaker } = state;
  const before = breakers.get(state) ?? closed;
  if (breaker === before) return null;
  breakers.set(state, breaker);
  if (breaker.at === 'open' && breaker.untilMs > nowMs)
    return { kind: 'open', why: breaker.why, forMs: breaker.untilMs - nowMs };
  return breaker.at === 'ramp' && (before.at === 'open' || before.at === 'probing') ? { kind: 'back' } : null;
}

function newCooling(cooling: Cooling, { coolings }: Shared, of: { of?: 'model' }, nowMs: number) {
  const { coolingUntilMs } = cooling;
  if (coolingUntilMs <= nowMs || coolingUntilMs === coolings.get(cooling)) return null;
  coolings.set(cooling, coolingUntilMs);
  return { kind: 'cooling', ...of, forMs: coolingUntilMs - nowMs } as const;
}

function newPace(state: LaneState, { paces, pacedAtMs }: Shared) {
  const firstTokenMs = state.respondedAtMs > pacedAtMs ? state.firstToken.lastMs() : null;
  const before = paces.get(state);
  if (firstTokenMs === null) return null;
  if (before !== undefined && Math.abs(firstTokenMs - before) <= before * paceShare) return null;
  paces.set(state, firstTokenMs);
  return { kind: 'pace', firstTokenMs } as const;
}

function newLength(state: LaneState, { lengths }: Shared) {
  const { vectorLength } = state;
  if (vectorLength === null || vectorLength === lengths.get(state)) return null;
  lengths.set(state, vectorLength);
  return { kind: 'vectors', length: vectorLength } as const;
}

/** Soon, while others may know too few to tell that it is silent; then now and then. */
function newUsual({ usual, respondedAtMs }: LaneState, { usualAtMs, pacedAtMs }: Shared, nowMs: number) {
  const hints: { kind: 'usual'; of: AnswerKind; counts: number[] }[] = [];
  // Others know all older ones.
  if (respondedAtMs < pacedAtMs - paceEveryMs) return hints;
  for (const of of answerKinds) {
    const times = usual[of];
    if (times === undefined) continue;
    const isDue = nowMs - (usualAtMs.get(times) ?? Number.NEGATIVE_INFINITY) >= paceEveryMs;
    if (!isDue && times.sharedTotal >= samplesMin) continue;
    const counts = times.takeNews();
    if (counts === null) continue;
    usualAtMs.set(times, nowMs);
    hints.push({ kind: 'usual', of, counts });
  }
  return hints;
}

function receiveOne(hint: HealthHint, state: LaneState, shared: Shared, nowMs: number): void {
  switch (hint.kind) {
    case 'open':
      // A probe of this process is about to know better.
      if (state.breaker.at === 'probing') return;
      state.breaker = afterEvent(
        state.breaker,
        { type: 'opened', why: hint.why, forMs: hint.forMs + probeLagMs },
        nowMs,
      );
      break;
    case 'back':
      if (state.breaker.at === 'open' && state.breaker.sinceMs <= nowMs - localNewsMs)
        comesBack(state, { type: 'answered' }, nowMs);
      break;
    case 'cooling':
      takeCooling(hint.of === 'model' ? state : state.ofCredential, nowMs + hint.forMs, shared);
      // Another model that this process finds limited shows that the credential is.
      if (hint.of === 'model') state.ofCredential.limitedLast = state;
      return;
    case 'pace':
      if (state.respondedAtMs < nowMs - localPaceMs) state.firstToken.observe(hint.firstTokenMs, nowMs);
      return;
    case 'usual':
      state.usual[hint.of] ??= new UsualTime();
      state.usual[hint.of]!.add(hint.counts, nowMs);
      return;
    case 'vectors':
      state.vectorLength = hint.length;
      shared.lengths.set(state, hint.length);
      return;
  }
  shared.breakers.set(state, state.breaker);
}

function takeCooling(cooling: Cooling, untilMs: number, { coolings }: Shared): void {
  if (untilMs <= cooling.coolingUntilMs) return;
  // The upstream's message is for the one tenant that got it.
  extend(cooling, untilMs, null);
  coolings.set(cooling, untilMs);
}
