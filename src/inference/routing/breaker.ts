/** A breaker's window: 60 s in ten buckets. */
export const windowBuckets = 10;
export const windowBucketMs = 6_000;
const failuresInRowToOpen = 3;
const failuresToOpen = 5;
const openMinMs = 5_000;
const openMaxMs = 60_000;

/** Why nothing is sent; words for people. */
export type OpenReason =
  | 'failing'
  | 'quota exhausted'
  | 'bad credential'
  | 'model unavailable'
  | 'region blocked'
  | 'health check failed';

/**
 * Times are monotonic ms. `open` past `untilMs` is due a probe: one real request whose end decides. `owner` is the
 * attempt that probes; its slot is free again at `lostAtMs`, should its end never be told.
 */
export type BreakerState =
  | { at: 'closed'; failuresInRow: number }
  | { at: 'open'; untilMs: number; openForMs: number; why: OpenReason }
  | { at: 'probing'; owner: object; openForMs: number; why: OpenReason; lostAtMs: number };

export type BreakerEvent =
  | { type: 'succeeded' }
  /** Both counts of the window, this failure included. */
  | { type: 'failed'; failures: number; total: number }
  /** One answer is proof enough (a refused key, a model that is gone). */
  | { type: 'tripped'; forMs: number; why: OpenReason }
  /** An active health check answered: it takes back what an earlier one said, nothing else. */
  | { type: 'check-passed' }
  | { type: 'probe-began'; owner: object; lostAtMs: number }
  | { type: 'probe-succeeded' }
  | { type: 'probe-failed' }
  /** The probe ended without telling anything: the next request may probe. */
  | { type: 'probe-freed' };

export const closed: BreakerState = { at: 'closed', failuresInRow: 0 };

/**
 * The only way a breaker moves. Gives back the same object when nothing changes. What ends late from before the
 * breaker opened moves nothing: only the probe speaks for an open one.
 */
export function afterEvent(state: BreakerState, event: BreakerEvent, nowMs: number): BreakerState {
  if (event.type === 'tripped') return tripped(state, event.forMs, event.why, nowMs);
  switch (state.at) {
    case 'closed':
      if (event.type === 'succeeded') return state.failuresInRow === 0 ? state : closed;
      if (event.type === 'failed') return afterFailure(state.failuresInRow + 1, event.failures, event.total, nowMs);
      return state;
    case 'open':
      if (event.type === 'check-passed') return state.why === 'health check failed' ? closed : state;
      return event.type === 'probe-began' && nowMs >= state.untilMs ? probing(state, event) : state;
    case 'probing':
      switch (event.type) {
        case 'probe-began':
          return nowMs >= state.lostAtMs ? probing(state, event) : state;
        case 'probe-succeeded':
          return closed;
        case 'probe-failed':
          return openFor(Math.min(openMaxMs, state.openForMs * 2), state.why, nowMs);
        case 'probe-freed':
          return { at: 'open', untilMs: nowMs, openForMs: state.openForMs, why: state.why };
        default:
          return state;
      }
  }
}

/** Whether a request may be the probe now. */
export function isDue(state: BreakerState, nowMs: number): boolean {
  return state.at === 'open' ? nowMs >= state.untilMs : state.at === 'probing' && nowMs >= state.lostAtMs;
}

function afterFailure(failuresInRow: number, failures: number, total: number, nowMs: number): BreakerState {
  const opens = failuresInRow >= failuresInRowToOpen || (failures >= failuresToOpen && failures * 2 >= total);
  return opens ? openFor(openMinMs, 'failing', nowMs) : { at: 'closed', failuresInRow };
}

/** A later deadline wins over an earlier one. */
function tripped(state: BreakerState, forMs: number, why: OpenReason, nowMs: number): BreakerState {
  if (state.at === 'open' && state.untilMs > nowMs + forMs) return state;
  return { at: 'open', untilMs: nowMs + forMs, openForMs: openMinMs, why };
}

function openFor(openForMs: number, why: OpenReason, nowMs: number): BreakerState {
  return { at: 'open', untilMs: nowMs + openForMs, openForMs, why };
}

function probing(
  state: Extract<BreakerState, { openForMs: number }>,
  event: Extract<BreakerEvent, { type: 'probe-began' }>,
): BreakerState {
  const { openForMs, why } = state;
  return { at: 'probing', owner: event.owner, openForMs, why, lostAtMs: event.lostAtMs };
}
