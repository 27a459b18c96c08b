import { type BreakerState, closed, isDue, windowBucketMs, windowBuckets } from './breaker.ts';
import { PeakEwma } from './latency.ts';
import { RollingCount } from './rolling-count.ts';
import type { Credential } from './target.ts';

/**
 * A lane is one target with one credential: what an attempt travels. Its state outlives the configuration that
 * named it; `Lane` is how one `Target` object sees it.
 */
export interface Lane {
  readonly state: LaneState;
  readonly credential: Credential;
  /** The credential's. */
  readonly weight: number;
  /** Hash of the credential's id, for affinity. */
  readonly key: number;
}

export interface LaneState {
  readonly targetId: string;
  readonly credentialId: string;
  breaker: BreakerState;
  readonly succeeded: RollingCount;
  readonly failed: RollingCount;
  lastFailedMs: number;
  readonly firstToken: PeakEwma;
  inFlight: number;
  /** Of those in flight, how many have shown no content yet. */
  awaiting: number;
  readonly ofCredential: CredentialState;
  readonly ofModel: ModelState;
}

/** Shared by all models of the credential's provider. */
export interface CredentialState {
  breaker: BreakerState;
  /** Rate-limited by the upstream until then; 0 = not. */
  coolingUntilMs: number;
  /** Attempts in the last minute; null until a configured rpm asks for it. */
  carried: RollingCount | null;
}

/** Shared by all credentials of one target. */
export interface ModelState {
  breaker: BreakerState;
}

/**
 * `due` lanes are open and may be probed, `probing` ones are being probed by someone else, `full` ones have carried
 * their configured requests per minute.
 */
export type Standing = 'ready' | 'due' | 'probing' | 'open' | 'cooling' | 'full';

/** What a lane that another request is probing is given to come back. */
const probeGuessMs = 1_000;

export function newLaneState(
  targetId: string,
  credentialId: string,
  of: CredentialState,
  model: ModelState,
): LaneState {
  return {
    targetId,
    credentialId,
    breaker: closed,
    succeeded: new RollingCount(windowBucketMs, windowBuckets),
    failed: new RollingCount(windowBucketMs, windowBuckets),
    lastFailedMs: Number.NEGATIVE_INFINITY,
    firstToken: new PeakEwma(),
    inFlight: 0,
    awaiting: 0,
    ofCredential: of,
    ofModel: model,
  };
}

/** 61 buckets of one second: with 60 a true minute could hold more than the limit. */
export function newMinuteCount(): RollingCount {
  return new RollingCount(1_000, 61);
}

export function standingOf(lane: Lane, nowMs: number): Standing {
  const { breaker, ofCredential, ofModel } = lane.state;
  if (ofCredential.coolingUntilMs > nowMs) return 'cooling';
  if (isFull(lane, nowMs)) return 'full';
  if (breaker.at === 'closed' && ofCredential.breaker.at === 'closed' && ofModel.breaker.at === 'closed')
    return 'ready';
  let standing: Standing = 'due';
  for (const one of breakersOf(lane.state)) {
    if (one.at === 'closed' || isDue(one, nowMs)) continue;
    if (one.at === 'open') return 'open';
    standing = 'probing';
  }
  return standing;
}

/** When the lane can serve or be probed again, at the earliest; `nowMs` when it can. */
export function backAtMs(lane: Lane, nowMs: number): number {
  const { ofCredential } = lane.state;
  let atMs = Math.max(nowMs, ofCredential.coolingUntilMs);
  if (isFull(lane, nowMs)) {
    atMs = Math.max(atMs, ofCredential.carried!.atMostMs(lane.credential.rpm! - 1, nowMs));
  }
  for (const one of breakersOf(lane.state)) {
    if (one.at === 'open') atMs = Math.max(atMs, one.untilMs);
    if (one.at === 'probing' && nowMs < one.lostAtMs) atMs = Math.max(atMs, nowMs + probeGuessMs);
  }
  return atMs;
}

/** Why a lane is not ready, in words; '' when it is. */
export function reasonOf(lane: Lane, nowMs: number): string {
  const { ofCredential } = lane.state;
  if (ofCredential.coolingUntilMs > nowMs) return 'rate limited';
  let reason = '';
  let untilMs = -1;
  for (const one of breakersOf(lane.state)) {
    if (one.at === 'closed') continue;
    const backMs = one.at === 'open' ? one.untilMs : nowMs;
    if (backMs > untilMs) {
      untilMs = backMs;
      reason = one.why;
    }
  }
  return reason === '' && lane.credential.rpm !== null ? `${lane.credential.rpm} requests a minute carried` : reason;
}

/** Lane's own, credential's, model's. */
function breakersOf(state: LaneState): BreakerState[] {
  return [state.breaker, state.ofCredential.breaker, state.ofModel.breaker];
}

function isFull(lane: Lane, nowMs: number): boolean {
  const { rpm } = lane.credential;
  const { carried } = lane.state.ofCredential;
  return rpm !== null && carried !== null && carried.total(nowMs) >= rpm;
}
