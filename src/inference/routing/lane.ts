import { type BreakerState, closed, isDue, isRest, rampShare } from './breaker.ts';
import { PeakEwma } from './latency.ts';
import { RollingCount } from './rolling-count.ts';
import { SuccessShare } from './success-share.ts';
import type { Credential } from './target.ts';
import type { UsualTime } from './usual-time.ts';

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
  readonly share: SuccessShare;
  /** Requests whose connection failed, without one in between that was answered; the instant of the last. */
  unreachableInRow: number;
  unreachableAtMs: number;
  readonly firstToken: PeakEwma;
  /** By kind of answer (`answerKindOf`); made at the first sample. */
  readonly usual: (UsualTime | undefined)[];
  /** The last sign of life: head, bytes or end of any attempt. */
  heardAtMs: number;
  inFlight: number;
  /** Of those in flight, how many have shown no content yet. */
  awaiting: number;
  readonly ofCredential: CredentialState;
}

/** Shared by all models of the credential's provider. */
export interface CredentialState {
  /** Rate-limited by the upstream until then; 0 = not. */
  coolingUntilMs: number;
  /** Attempts in the last minute; null until a configured rpm asks for it. */
  carried: RollingCount | null;
}

/**
 * `due` lanes are open and may be probed, `probing` ones are being probed by someone else, `refused` ones refused a
 * connection within the last second, `full` ones have carried their configured requests per minute.
 */
export type Standing = 'ready' | 'due' | 'probing' | 'open' | 'refused' | 'cooling' | 'full';

/** How long a refused connection keeps even the last resort away. */
export const refusedForMs = 1_000;
/** What a resting lane (bad credential, model gone) is worth as a last resort: less than any that merely fails. */
const restingHope = 0.02;
/** What a lane that cannot be reached or says nothing is worth, however well it did before. */
const deadHope = 0.1;

export function newLaneState(targetId: string, credentialId: string, of: CredentialState): LaneState {
  return {
    targetId,
    credentialId,
    breaker: closed,
    share: new SuccessShare(),
    unreachableInRow: 0,
    unreachableAtMs: Number.NEGATIVE_INFINITY,
    firstToken: new PeakEwma(),
    usual: [],
    heardAtMs: Number.NEGATIVE_INFINITY,
    inFlight: 0,
    awaiting: 0,
    ofCredential: of,
  };
}

/** 61 buckets of one second: with 60 a true minute could hold more than the limit. */
export function newMinuteCount(): RollingCount {
  return new RollingCount(1_000, 61);
}

export function standingOf(lane: Lane, nowMs: number): Standing {
  const { breaker, ofCredential } = lane.state;
  if (ofCredential.coolingUntilMs > nowMs) return 'cooling';
  if (isFull(lane, nowMs)) return 'full';
  if (breaker.at === 'closed' || breaker.at === 'ramp') return 'ready';
  if (isDue(breaker, nowMs)) return 'due';
  if (breaker.why === 'unreachable' && nowMs < lane.state.unreachableAtMs + refusedForMs) return 'refused';
  return breaker.at;
}

/** Whether nothing could come of an attempt now: limited until a known instant, or refused a moment ago. */
export function cannotBeTried(standing: Standing): boolean {
  return standing === 'cooling' || standing === 'full' || standing === 'refused';
}

/**
 * Whether it is closed out for what happens above the connection. Never are more than half of an alias's targets so at
 * once: a judgement on so many is more likely wrong, and the rest could not carry their load.
 */
export function isClosedOut(lane: Lane, standing: Standing): boolean {
  if (standing !== 'open' && standing !== 'probing') return false;
  const { breaker } = lane.state;
  return breaker.at !== 'closed' && breaker.why !== 'unreachable' && !isRest(breaker.why);
}

/** Whether its connections failed, and it is closed out for that. */
export function isUnreachable({ state: { breaker } }: Lane): boolean {
  return (breaker.at === 'open' || breaker.at === 'probing') && breaker.why === 'unreachable';
}

/** The part that its weight is worth, above 0 and at most 1: its success share, squared, and its ramp. */
export function healthOf(state: LaneState, nowMs: number): number {
  const share = state.share.at(nowMs);
  return Math.max(healthFloor, share * share) * rampShare(state.breaker, nowMs);
}

/** So that what fails is still looked at now and then. */
const healthFloor = 0.01;

/** How likely it is to answer, 0 to 1, whatever a ramp leaves it; `rightNow`: by its last few failures, too. */
export function hopeOf(state: LaneState, when: 'lately' | 'right now', nowMs: number): number {
  const { breaker } = state;
  const share = when === 'right now' ? state.share.rightNow(nowMs) : state.share.at(nowMs);
  if (breaker.at !== 'open' && breaker.at !== 'probing') return share;
  if (isRest(breaker.why)) return Math.min(restingHope, share);
  return breaker.why === 'failing' ? share : Math.min(deadHope, share);
}

/** When the lane is ready or can be probed again, at the earliest; `nowMs` when it can. */
export function backAtMs(lane: Lane, nowMs: number): number {
  const { breaker, ofCredential } = lane.state;
  let atMs = Math.max(nowMs, ofCredential.coolingUntilMs);
  if (isFull(lane, nowMs)) {
    atMs = Math.max(atMs, ofCredential.carried!.atMostMs(lane.credential.rpm! - 1, nowMs));
  }
  if (breaker.at === 'open') atMs = Math.max(atMs, breaker.untilMs);
  return atMs;
}

/** The first instant at which it could be tried at all; `nowMs` when that is now. */
export function triableAtMs(lane: Lane, nowMs: number): number {
  const { breaker, unreachableAtMs, ofCredential } = lane.state;
  let atMs = Math.max(nowMs, ofCredential.coolingUntilMs);
  if (isFull(lane, nowMs)) {
    atMs = Math.max(atMs, ofCredential.carried!.atMostMs(lane.credential.rpm! - 1, nowMs));
  }
  const isOpen = breaker.at === 'open' || breaker.at === 'probing';
  return isOpen && breaker.why === 'unreachable' ? Math.max(atMs, unreachableAtMs + refusedForMs) : atMs;
}

/** Why a lane is not ready, in words; '' when it is. */
export function reasonOf(lane: Lane, nowMs: number): string {
  const { breaker, ofCredential } = lane.state;
  if (ofCredential.coolingUntilMs > nowMs) return 'rate limited';
  if (breaker.at === 'open' || breaker.at === 'probing') return breaker.why;
  return lane.credential.rpm !== null && isFull(lane, nowMs) ? `${lane.credential.rpm} requests a minute carried` : '';
}

function isFull(lane: Lane, nowMs: number): boolean {
  const { rpm } = lane.credential;
  const { carried } = lane.state.ofCredential;
  return rpm !== null && carried !== null && carried.total(nowMs) >= rpm;
}
