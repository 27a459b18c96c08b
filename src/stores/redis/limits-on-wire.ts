import type { Full, Limit, LimitState, Measure, Scope } from '../../books/metering/counters.ts';
import type { SpanName } from '../../books/metering/window.ts';
import { hourMs } from '../../kernel/clock.ts';
import type { Reply } from './wire.ts';

const measures: Readonly<Record<Measure, string>> = { calls: 'c', units: 'u', tokens: 't', usd: 'd' };
const spans: Readonly<Record<SpanName, string>> = { minute: '1', '5h': '5', week: '7', month: '30' };

/** Names of the totals in the scripts (lua-windows.ts). */
const counted: Readonly<Record<Measure, readonly SpanName[]>> = {
  calls: ['minute'],
  units: ['5h', 'week', 'month'],
  tokens: ['minute', '5h', 'week', 'month'],
  usd: ['5h', 'week', 'month'],
};

/**
 * Measure and span as the scripts name them; of a calendar period, `P`, its first hour, the one after it, and its name,
 * as of this wall-clock instant. Throws for one that nobody counts: that is our mistake, not a caller's.
 */
export function spanOnWire(
  { measure, span, period, isForEver }: Limit,
  nowMs: number,
): [measure: string, span: string] {
  if (!counted[measure].includes(span)) throw new Error(`${measure} are not counted by ${span}`);
  if (isForEver === true) return [measures[measure], everOnWire];
  if (period === undefined) return [measures[measure], spans[span]];
  const hours = [period.startMs(nowMs) / hourMs, period.endMs(nowMs) / hourMs];
  return [measures[measure], `P${hours.join(':')}:${period.id}`];
}

/** A period whose sum is seeded with the scope, and that never ends: lua-windows.ts. */
const everOnWire = 'P1:0:credit';

/** -1 means no limit. */
export function allowedOnWire(allowed: number): string {
  return Number.isFinite(allowed) ? String(allowed) : '-1';
}

/** The place of each limit's scope among `scopes`, from 1, as Lua counts; `scopes` grows by those that are missing. */
export function placeOf(scope: Scope, scopes: Scope[]): string {
  const known = scopes.indexOf(scope);
  return String(known === -1 ? scopes.push(scope) : known + 1);
}

/** Pairs of used and leaves-at from `from` on; -1 is never. */
export function statesOf(answer: readonly Reply[], from: number): LimitState[] {
  const states: LimitState[] = [];
  for (let i = from; i + 1 < answer.length; i += 2)
    states.push({ used: answer[i] as number, leavesAtMs: instantOf(answer[i + 1]!) });
  return states;
}

/** The result of `statesOf`, without what others behind this request used of each limit. */
export function statesBefore(
  answer: readonly Reply[],
  from: number,
  limits: readonly Limit[],
  behind: (limit: Limit) => number,
): LimitState[] {
  const states = statesOf(answer, from);
  states.length = limits.length;
  for (const [i, limit] of limits.entries()) {
    const state = states[i];
    if (state !== undefined) state.used -= behind(limit);
  }
  return states;
}

/** `[1, which, used, free at, now]`, of places without now; `which` counts through `limits` from 1. */
export function fullOf(
  answer: readonly Reply[],
  limits: readonly { id: string; scope: Scope; allowed: number }[],
): Full {
  const { id, scope, allowed } = limits[(answer[1] as number) - 1]!;
  return { kind: 'full', limit: id, scope, used: answer[2] as number, allowed, freeAtMs: instantOf(answer[3]!) };
}

function instantOf(answer: Reply): number | null {
  return answer === -1 ? null : (answer as number);
}
