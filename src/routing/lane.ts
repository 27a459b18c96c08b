import type { RequestNeeds } from '../formats/neutral/request.ts';
import { type BreakerState, closed, isDue, isRest, rampShare } from './breaker.ts';
import { type Cooling, type CredentialCooling, coolingOf } from './cooling.ts';
import { FirstTokenPace } from './pace.ts';
import { RollingCount, SuccessShare } from './rolling-counts.ts';
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
  /** By its target's `max_first_token`; null or absent: it has none. */
  readonly pace?: FirstTokenPace | null;
}

export interface LaneState extends Cooling {
  readonly targetId: string;
  readonly credentialId: string;
  breaker: BreakerState;
  readonly share: SuccessShare;
  /** Requests whose connection failed, without one in between that was answered; the instant of the last. */
  unreachableInRow: number;
  unreachableAtMs: number;
  /** Answers that stalled or broke after their first content, without one in between that ended well. */
  brokenInRow: number;
  /** The same over the last minute, which a return does not clear; made at the first one. */
  broken: RollingCount | null;
  /** Requests that others served since it is due a probe that may cost its caller the answer. */
  spared: number;
  /** The longest silence within each of its streams; made at the first sample. */
  gaps: UsualTime | null;
  readonly firstToken: PeakEwma;
  /** By `max_first_token` of targets, in ms; null: none has one. */
  paces: Map<number, FirstTokenPace> | null;
  /** By kind of answer; made at the first sample. */
  readonly usual: Partial<Record<AnswerKind, UsualTime>>;
  /** The context that its model was found to hold; null: only the configuration's is known. */
  room: LearntRoom | null;
  /** Length of its last vectors, where no length was requested or declared; null: unknown. */
  vectorLength: number | null;
  /** The last sign of life: head, bytes or end of any attempt. */
  respondedAtMs: number;
  inFlight: number;
  /** Number of those in flight without any content yet. */
  awaiting: number;
  readonly ofCredential: CredentialState;
}

/** The context of a model, as an upstream named it when a prompt did not fit. */
export interface LearntRoom {
  /** By our estimate of the same prompt. */
  tokens: number;
  /** On the monotonic clock: after it the model may have got more room. */
  untilMs: number;
}

export function newCredentialState(): CredentialState {
  return { coolingUntilMs: 0, coolingMessage: null, limitedLast: null, carried: null };
}

/** Shared by all models of the credential's provider. */
export interface CredentialState extends CredentialCooling {
  /** Attempts in the last minute; null until a configured rpm asks for it. */
  carried: RollingCount | null;
}

/**
 * `due` lanes are open and may be probed, another request is probing `probing` ones, `refused` ones refused a
 * connection within the last second, `full` ones have carried their configured requests per minute.
 */
export type Standing = 'ready' | 'due' | 'probing' | 'open' | 'refused' | 'cooling' | 'full';

/** So many requests go elsewhere before one probes a target whose streams broke off: it may lose one in so many. */
export const sparedMax = 40;
/** How long a refused connection keeps even the last resort away. */
const refusedForMs = 1_000;
/** Worth of a resting lane (bad credential, model gone) as a last resort: less than any that merely fails. */
const restingHope = 0.02;
/** Worth of a lane that cannot be reached or is silent, however well it did before. */
const deadHope = 0.1;

export function newLaneState(targetId: string, credentialId: string, of: CredentialState): LaneState {
  return {
    targetId,
    credentialId,
    breaker: closed,
    share: new SuccessShare(),
    unreachableInRow: 0,
    unreachableAtMs: Number.NEGATIVE_INFINITY,
    brokenInRow: 0,
    broken: null,
    spared: 0,
    gaps: null,
    firstToken: new PeakEwma(),
    paces: null,
    usual: {},
    room: null,
    vectorLength: null,
    coolingUntilMs: 0,
    coolingMessage: null,
    respondedAtMs: Number.NEGATIVE_INFINITY,
    inFlight: 0,
    awaiting: 0,
    ofCredential: of,
  };
}

/** Maxima remembered: only new configurations bring others. */
const pacesMax = 16;

/** Whether the target keeps to a first token within `maxMs`, as known so far. */
export function paceOf(state: LaneState, maxMs: number): FirstTokenPace {
  state.paces ??= new Map();
  let pace = state.paces.get(maxMs);
  if (pace === undefined) {
    if (state.paces.size >= pacesMax) state.paces.clear();
    pace = new FirstTokenPace(maxMs);
    state.paces.set(maxMs, pace);
  }
  return pace;
}

/** 61 buckets of one second: with 60 a true minute could hold more than the limit. */
export function newMinuteCount(): RollingCount {
  return new RollingCount(1_000, 61);
}

export function standingOf(lane: Lane, nowMs: number): Standing {
  const { breaker, coolingUntilMs, ofCredential } = lane.state;
  if (coolingUntilMs > nowMs || ofCredential.coolingUntilMs > nowMs) return 'cooling';
  if (lane.credential.rpm !== null && isFull(lane, nowMs)) return 'full';
  if (breaker.at === 'closed' || breaker.at === 'ramp') return 'ready';
  if (isDue(breaker, nowMs)) return 'due';
  if (breaker.why === 'unreachable' && nowMs < lane.state.unreachableAtMs + refusedForMs) return 'refused';
  return breaker.at;
}

/** Whether an attempt now would be useless: limited until a known instant, or refused a moment ago. */
export function cannotBeTried(standing: Standing): boolean {
  return standing === 'cooling' || standing === 'full' || standing === 'refused';
}

/**
 * Whether it is closed because of failures above the connection. Never more than half of an alias's targets are at
 * once: a judgement on so many is more likely wrong, and the rest could not carry their load.
 */
export function isClosedOut(lane: Lane, standing: Standing): boolean {
  if (standing !== 'open' && standing !== 'probing') return false;
  const { breaker } = lane.state;
  return breaker.at !== 'closed' && breaker.why !== 'unreachable' && !isRest(breaker.why);
}

/** Whether it is closed because its connections failed. */
export function isUnreachable({ state: { breaker } }: Lane): boolean {
  return (breaker.at === 'open' || breaker.at === 'probing') && breaker.why === 'unreachable';
}

/** Whether its credential or model is of no use until the operator has mended it. */
export function isAtRest({ state: { breaker } }: Lane): boolean {
  return (breaker.at === 'open' || breaker.at === 'probing') && isRest(breaker.why);
}

/**
 * The part that its weight is worth, above 0 and at most 1: its success share, squared, its part of answers that do not
 * break after their first content, to the power of `wholePower`, and its ramp.
 */
export function healthOf(state: LaneState, nowMs: number): number {
  const share = state.share.at(nowMs);
  const whole = wholeShareOf(state, nowMs);
  const worth = whole === 1 ? share * share : share * share * whole ** wholePower;
  return Math.max(healthFloor, worth) * rampShare(state.breaker, nowMs);
}

/** 0 to 1, by the last minute; 1 while no answer broke. */
export function wholeShareOf(state: LaneState, nowMs: number): number {
  const { broken, share } = state;
  const count = broken === null ? 0 : broken.total(nowMs);
  if (count === 0) return 1;
  const whole = share.counts(nowMs).succeeded + wholePrior;
  return (whole / (whole + count)) * rowShare ** state.brokenInRow;
}

/** No other target can mend an answer that breaks after its first content, so it weighs more than other failures. */
const wholePower = 6;
/** Factor for each break until an answer is whole again: the counts of a good minute would hide it. */
const rowShare = 0.6;
/** Whole answers that a target is trusted with before any is known. */
const wholePrior = 2;

/** So that a failing lane is still tried now and then. */
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
  const { breaker } = lane.state;
  const atMs = credentialAtMs(lane, nowMs);
  return breaker.at === 'open' ? Math.max(atMs, breaker.untilMs) : atMs;
}

function credentialAtMs(lane: Lane, nowMs: number): number {
  const { coolingUntilMs } = coolingOf(lane.state);
  const { carried } = lane.state.ofCredential;
  const { rpm } = lane.credential;
  const fullUntilMs =
    isFull(lane, nowMs) && carried !== null && rpm !== null ? carried.atMostMs(rpm - 1, nowMs) : nowMs;
  return Math.max(nowMs, coolingUntilMs, fullUntilMs);
}

/** The first instant at which it could be tried at all; `nowMs` when that is now. */
export function triableAtMs(lane: Lane, nowMs: number): number {
  const { breaker, unreachableAtMs } = lane.state;
  const atMs = credentialAtMs(lane, nowMs);
  const isOpen = breaker.at === 'open' || breaker.at === 'probing';
  return isOpen && breaker.why === 'unreachable' ? Math.max(atMs, unreachableAtMs + refusedForMs) : atMs;
}

/** Why a lane is not ready, in words; '' when it is. */
export function reasonOf(lane: Lane, nowMs: number): string {
  const { breaker } = lane.state;
  if (coolingOf(lane.state).coolingUntilMs > nowMs) return 'rate limited';
  if (breaker.at === 'open' || breaker.at === 'probing') return breaker.why;
  return isFull(lane, nowMs) ? `${lane.credential.rpm} requests a minute carried` : '';
}

function isFull(lane: Lane, nowMs: number): boolean {
  const { rpm } = lane.credential;
  const { carried } = lane.state.ofCredential;
  return rpm !== null && carried !== null && carried.total(nowMs) >= rpm;
}

/** How fast an old time to first token is forgotten. */
const decayMs = 10_000;
/** Assumed ms when nothing is known yet and a first try is already under way. */
const unknownFirstTokenMs = 1_000;
/** Smaller differences do not count. */
const firstTokenFloorMs = 1;

/** Peak-sensitive moving average of the time to first token: a slower answer counts at once, a faster one by and by. */
export class PeakEwma {
  #valueMs = 0;
  /** -1: never observed. */
  #atMs = -1;

  observe(firstTokenMs: number, nowMs: number): void {
    const observedMs = Math.max(firstTokenFloorMs, firstTokenMs);
    if (this.#atMs < 0 || observedMs >= this.#valueMs) {
      this.#valueMs = observedMs;
    } else {
      const old = Math.exp(-Math.max(0, nowMs - this.#atMs) / decayMs);
      this.#valueMs = this.#valueMs * old + observedMs * (1 - old);
    }
    this.#atMs = nowMs;
  }

  /**
   * Expected ms to first token. While nothing awaits its first token the value fades, and an unknown one is the floor,
   * so that one scout tries new and formerly slow targets again. Once `awaiting` > 0 the full value (or a guess)
   * counts, or all callers would follow the scout before it has an answer.
   */
  readMs(awaiting: number, nowMs: number, fadesInMs = decayMs): number {
    if (this.#atMs < 0) return awaiting > 0 ? unknownFirstTokenMs : firstTokenFloorMs;
    if (awaiting > 0) return this.#valueMs;
    return Math.max(firstTokenFloorMs, this.#valueMs * Math.exp(-Math.max(0, nowMs - this.#atMs) / fadesInMs));
  }

  /** Null while nothing was observed; unfaded. For people. */
  lastMs(): number | null {
    return this.#atMs < 0 ? null : this.#valueMs;
  }
}

/** Bucket i holds times up to `firstBucketMs × growth^i`: 10 ms to 10 min in 37 steps. */
const firstBucketMs = 10;
const growth = 1.35;
const buckets = 38;
/** Samples below which a percentile says nothing. */
export const samplesMin = 20;
/** Counts are halved so often, so that the last minutes speak; but what a quiet target is known by is kept. */
const halvedAfterMs = 120_000;
const samplesRetainedMin = 2 * samplesMin;
/** Less than a sample, which may have faded; more than what rounding makes of halved counts. */
const newsMin = 0.5;

/** How long something usually takes, by the samples of the last minutes. Times are monotonic ms. */
export class UsualTime {
  readonly #counts = new Float32Array(buckets);
  #total = 0;
  /** The part that other processes know; null: none. */
  #shared: { counts: Float32Array; total: number } | null = null;
  #halvedAtMs = Number.NEGATIVE_INFINITY;

  observe(ms: number, nowMs: number): void {
    if (nowMs - this.#halvedAtMs >= halvedAfterMs) this.#fade(nowMs);
    const bucket = Math.ceil(Math.log(Math.max(1, ms / firstBucketMs)) / Math.log(growth));
    this.#counts[Math.min(buckets - 1, bucket)]! += 1;
    this.#total += 1;
  }

  /** Upper bound in ms that `share` (0 to 1) of the samples stayed below; null while fewer than `samples` are known. */
  percentileMs(share: number, nowMs: number, samples = samplesMin): number | null {
    if (nowMs - this.#halvedAtMs >= halvedAfterMs) this.#fade(nowMs);
    if (this.#total < samples) return null;
    let left = this.#total * share;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return firstBucketMs * growth ** bucket;
    }
    return firstBucketMs * growth ** (buckets - 1);
  }

  /** Samples that other processes know. */
  get sharedTotal(): number {
    return this.#shared?.total ?? 0;
  }

  /** Samples of this process since the last call, by bucket: other processes know them now. Null: none. */
  takeNews(): number[] | null {
    if (this.#total - this.sharedTotal < newsMin) return null;
    const before = this.#shared?.counts;
    const news = Array.from(this.#counts, (count, bucket) => Math.max(0, count - (before?.[bucket] ?? 0)));
    this.#shared = { counts: this.#counts.slice(), total: this.#total };
    return news;
  }

  /** Adds news of another process. */
  add(news: readonly number[], nowMs: number): void {
    if (nowMs - this.#halvedAtMs >= halvedAfterMs) this.#fade(nowMs);
    this.#shared ??= { counts: new Float32Array(buckets), total: 0 };
    for (const [bucket, count] of news.slice(0, buckets).entries()) {
      this.#counts[bucket]! += count;
      this.#total += count;
      this.#shared.counts[bucket]! += count;
      this.#shared.total += count;
    }
  }

  #fade(nowMs: number): void {
    if (this.#halvedAtMs === Number.NEGATIVE_INFINITY) this.#halvedAtMs = nowMs;
    const halvings = Math.floor((nowMs - this.#halvedAtMs) / halvedAfterMs);
    this.#halvedAtMs += halvings * halvedAfterMs;
    if (this.#total <= samplesRetainedMin) return;
    const factor = Math.max(samplesRetainedMin / this.#total, 0.5 ** halvings);
    for (let bucket = 0; bucket < buckets; bucket++) this.#counts[bucket]! *= factor;
    this.#total *= factor;
    if (this.#shared === null) return;
    for (let bucket = 0; bucket < buckets; bucket++) this.#shared.counts[bucket]! *= factor;
    this.#shared.total *= factor;
  }
}

/** Answers that take alike: streams until their first token, whole ones by the tokens that were asked for. */
export const answerKinds = ['stream', 'whole-256', 'whole-1024', 'whole-4096', 'whole'] as const;
export type AnswerKind = (typeof answerKinds)[number];

export function answerKindOf({
  stream,
  maxOutputTokens,
}: Pick<RequestNeeds, 'stream' | 'maxOutputTokens'>): AnswerKind {
  if (stream) return 'stream';
  if (maxOutputTokens === null || maxOutputTokens > 4_096) return 'whole';
  return maxOutputTokens > 1_024 ? 'whole-4096' : maxOutputTokens > 256 ? 'whole-1024' : 'whole-256';
}
