/** Why a target is closed out; words for people. */
export type OpenReason =
  /** Its connections fail: refused, DNS, TLS. */
  | 'unreachable'
  | 'failing'
  /** Its streams stall or break after their first content. */
  | 'streams break off'
  /** It takes requests and says nothing. */
  | 'silent'
  | 'health check failed'
  | 'quota exhausted'
  | 'bad credential'
  | 'model unavailable'
  | 'region blocked';

/** How long each reason closes out, the first time and every time again, in ms; the last one repeats. */
const failureStepsMs = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
const restStepsMs = [5_000, 30_000, 300_000];

/** Its probes cost their callers the answer, so the first one waits longer: the first step that it uses. */
const brokenStepMin = 2;

/** A ramp's parts of a target's share, each for a quarter of `rampMs`. */
const rampShares = [0.1, 0.25, 0.5, 0.75];
const rampMs = 10_000;
/** Steps count on from an opening that ended so lately. */
const stepsRetentionMs = 600_000;
/** A probe that has shown content may stream for minutes: another request may probe after that time. */
const probeRespondedMs = 10_000;

/**
 * Times are monotonic ms. `step` counts how often it was opened in a row. `open` past `untilMs` is due a probe: one
 * real request, or a cheap call. `owner` is the attempt that probes; its slot is free again at `lostAtMs`. A probe has
 * passed when its answer has ended well; then the lane comes back by a ramp.
 */
export type BreakerState =
  | { at: 'closed' }
  | { at: 'open'; why: OpenReason; step: number; sinceMs: number; untilMs: number }
  | { at: 'probing'; why: OpenReason; step: number; sinceMs: number; owner: object; lostAtMs: number }
  | { at: 'ramp'; why: OpenReason; step: number; sinceMs: number };

export type BreakerEvent =
  /** `forMs`: for so long, instead of its reason's own steps. */
  | { type: 'opened'; why: OpenReason; forMs?: number }
  /** A health check, a list of models or a request that began while it was open was answered. */
  | { type: 'answered' }
  | { type: 'probe-began'; owner: object; lostAtMs: number }
  /** It has shown its first content. */
  | { type: 'probe-spoke' }
  | { type: 'probe-passed' }
  | { type: 'probe-failed'; why: OpenReason }
  /** The probe ended without telling anything: the next request may probe. */
  | { type: 'probe-freed' };

export const closed: BreakerState = { at: 'closed' };

/** The only way a breaker moves. Returns the same object when nothing changes. */
export function afterEvent(state: BreakerState, event: BreakerEvent, nowMs: number): BreakerState {
  switch (event.type) {
    case 'opened':
      return opened(state, event.why, event.forMs, nowMs);
    case 'answered':
      return state.at === 'open' || state.at === 'probing' ? ramp(state, nowMs) : state;
    case 'probe-began': {
      if ((state.at !== 'open' && state.at !== 'probing') || !isDue(state, nowMs)) return state;
      const { why, step, sinceMs } = state;
      return { at: 'probing', why, step, sinceMs, owner: event.owner, lostAtMs: event.lostAtMs };
    }
    case 'probe-spoke':
      return state.at === 'probing'
        ? { ...state, lostAtMs: Math.min(state.lostAtMs, nowMs + probeRespondedMs) }
        : state;
    case 'probe-passed':
      return state.at === 'probing' ? ramp(state, nowMs) : state;
    case 'probe-failed':
      return state.at === 'probing' ? openAt(event.why, nextStep(state, event.why), nowMs) : state;
    case 'probe-freed':
      return state.at === 'probing'
        ? { at: 'open', why: state.why, step: state.step, sinceMs: nowMs, untilMs: nowMs }
        : state;
  }
}

/** Whether a request may be the probe now. */
export function isDue(state: BreakerState, nowMs: number): boolean {
  return state.at === 'open' ? nowMs >= state.untilMs : state.at === 'probing' && nowMs >= state.lostAtMs;
}

/** The part of its share that a target may carry, above 0 and at most 1; one that does not ramp carries all of it. */
export function rampShare(state: BreakerState, nowMs: number): number {
  if (state.at !== 'ramp') return 1;
  const quarter = Math.floor(((nowMs - state.sinceMs) / rampMs) * rampShares.length);
  return rampShares[quarter] ?? 1;
}

/** Whether an event now belongs to the time of coming back. */
export function isRamping(state: BreakerState, nowMs: number): boolean {
  return state.at === 'ramp' && nowMs < state.sinceMs + rampMs;
}

/** Whether the operator or the vendor must act, and no failure of the service is behind it. */
export function isRest(why: OpenReason): boolean {
  return (
    why === 'quota exhausted' || why === 'bad credential' || why === 'model unavailable' || why === 'region blocked'
  );
}

/** The later of two deadlines counts. A breaker that opens again within ten minutes stays open for longer. */
function opened(state: BreakerState, why: OpenReason, forMs: number | undefined, nowMs: number): BreakerState {
  // Failures of requests that are sent nevertheless, with nothing better to ask, say nothing new.
  if (state.at === 'open' && forMs === undefined && isRest(state.why) === isRest(why)) return state;
  const isLately = state.at === 'ramp' && nowMs < state.sinceMs + stepsRetentionMs;
  const step = isLately || state.at === 'probing' ? nextStep(state, why) : firstStep(why);
  const next = openAt(why, step, nowMs, forMs);
  return state.at === 'open' && state.untilMs >= next.untilMs ? state : next;
}

function openAt(why: OpenReason, step: number, nowMs: number, forMs?: number): Extract<BreakerState, { at: 'open' }> {
  const steps = isRest(why) ? restStepsMs : failureStepsMs;
  const lastsMs = forMs ?? steps[Math.min(step, steps.length - 1)]!;
  return { at: 'open', why, step, sinceMs: nowMs, untilMs: nowMs + lastsMs };
}

/** Steps go on within failures and within rests. */
function nextStep(state: BreakerState, why: OpenReason): number {
  const isFirst = state.at === 'closed' || isRest(state.why) !== isRest(why);
  return isFirst ? firstStep(why) : Math.max(firstStep(why), state.step + 1);
}

function firstStep(why: OpenReason): number {
  return why === 'streams break off' ? brokenStepMin : 0;
}

function ramp(state: { why: OpenReason; step: number }, nowMs: number): BreakerState {
  return { at: 'ramp', why: state.why, step: state.step, sinceMs: nowMs };
}
