import { backAtMs, type Lane, type LaneState, reasonOf, type Standing, standingOf } from './lane.ts';
import type { Credential, Target } from './target.ts';

/** `down` when every target is closed or limited; requests go to the least bad nevertheless. */
export type ModelStatus = 'healthy' | 'degraded' | 'down';

export type HealthSnapshot = readonly LaneSnapshot[];

/** Monotonic ms. */
export interface LaneSnapshot {
  target: string;
  credential: string;
  standing: Standing;
  /** Null when ready. */
  backAtMs: number | null;
  why: string | null;
  inFlight: number;
  /** Peak-sensitive average; null while unknown. */
  firstTokenMs: number | null;
  /** Attempts that ended within the last 60 s; of one request at most one failure counts. */
  succeeded: number;
  failed: number;
  /** Their score for picking, 0 to 1. */
  successShare: number;
}

/** `rpm` is the configuration's, not the state's: snapshots do not tell `full`. */
export function snapshotOf(states: Iterable<LaneState>, nowMs: number): HealthSnapshot {
  const lanes: LaneSnapshot[] = [];
  for (const state of states) {
    const lane = laneOf(state, { id: state.credentialId, weight: 1, rpm: null });
    const standing = standingOf(lane, nowMs);
    lanes.push({
      target: state.targetId,
      credential: state.credentialId,
      standing,
      backAtMs: standing === 'ready' ? null : backAtMs(lane, nowMs),
      why: standing === 'ready' ? null : reasonOf(lane, nowMs),
      inFlight: state.inFlight,
      firstTokenMs: state.firstToken.lastMs(),
      ...state.share.counts(nowMs),
      successShare: state.share.at(nowMs),
    });
  }
  return lanes;
}

export function modelStatusOf(
  targets: readonly Target[],
  find: (target: Target, credential: Credential) => LaneState | undefined,
  nowMs: number,
): ModelStatus {
  let ready = 0;
  let usable = 0;
  let lanes = 0;
  for (const target of targets) {
    for (const credential of target.credentials) {
      lanes++;
      const state = find(target, credential);
      const standing = state === undefined ? 'ready' : standingOf(laneOf(state, credential), nowMs);
      if (standing === 'ready') ready++;
      if (standing === 'ready' || standing === 'due' || standing === 'probing') usable++;
    }
  }
  if (usable === 0) return 'down';
  return ready === lanes ? 'healthy' : 'degraded';
}

function laneOf(state: LaneState, credential: Credential): Lane {
  return { state, credential, weight: credential.weight, key: 0 };
}
