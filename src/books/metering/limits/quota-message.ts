import type { QuotaExceeded } from '../../../kernel/failure.ts';
import type { Full, Limit, Measure } from '../counters.ts';
import { periodLabels, periodNames, type WindowName, windowLabels, windowNames } from '../window.ts';

/** Whole numbers of the measure in one of what callers read. */
const wholeOf: Readonly<Record<Measure, number>> = { calls: 1_000, units: 1_000, tokens: 1, usd: 1e9 };

/** Amount as callers read it: requests, units, tokens or USD, as decimals. */
export function amountOf(measure: Measure, whole: number): number {
  return whole / wholeOf[measure];
}

/**
 * The 429 of a reached limit. `needs` is what this request would take of it, in its measure's whole numbers; 0 for what
 * is paid afterwards. The instant is rounded up to the second, so that a caller who reads it passes then.
 */
export function quotaExceeded(
  full: Full,
  reached: Limit | null,
  needs: number,
  nowMs: number,
  headers: readonly string[],
): QuotaExceeded {
  // A key of a run ends before any of it would be free.
  const freeMs = full.limit === 'run:budget' ? null : full.freeAtMs;
  const freeAtMs = freeMs === null ? null : Math.ceil(freeMs / 1_000) * 1_000;
  // Places are counted as they are.
  const inWords = (whole: number) => (reached === null ? whole : amountOf(reached.measure, whole));
  const [used, allowed] = [inWords(full.used), inWords(full.allowed)];
  const what = reached === null ? 'requests running' : `${usedUnits[reached.measure]} used`;
  const short = full.used < full.allowed && needs > 0 ? `, and this one needs ${inWords(needs)}` : '';
  const ofKey = full.scope.startsWith('k:');
  return {
    kind: 'quota-exceeded',
    limit: full.limit,
    window: windowOf(full.limit),
    used,
    allowed,
    freeAtMs,
    message: `Rate limit exceeded: ${labelOf(full.limit)}${scopePhrase(full, reached)}, ${used} of ${allowed} ${what}${short}. ${whenFree(full, reached, needs, freeAtMs, nowMs)}`,
    ...(ofKey && { ofKey }),
    headers,
  };
}

function scopePhrase({ scope }: Full, reached: Limit | null): string {
  if (scope.startsWith('k:')) return ' of this key';
  if (scope.startsWith('r:')) return ' of this key of a run';
  const part = reached?.part;
  if (part === undefined) return '';
  if (part.value === '') return ` of requests without a ${part.kind}`;
  return ` of the ${part.kind} '${part.value.slice(0, namedCharsMax)}'`;
}

const namedCharsMax = 64;

const usedUnits: Readonly<Record<Measure, string>> = {
  calls: 'requests',
  units: 'requests',
  tokens: 'tokens',
  usd: 'USD',
};

function whenFree(full: Full, reached: Limit | null, needs: number, freeAtMs: number | null, nowMs: number): string {
  if (freeAtMs !== null) {
    const at = new Date(freeAtMs).toISOString().replace('.000', '');
    return `The next request passes at ${at} (in ${Math.max(0, Math.ceil((freeAtMs - nowMs) / 1_000))} s).`;
  }
  if (reached === null) return 'The next request passes as soon as one of them has ended.';
  if (reached.isForEver === true)
    return 'The next request passes once credit is added to the account; ask its operator.';
  if (reached.id === 'run:budget') return 'Ask for another key of a run.';
  const never = reached.rule === 'exact' ? needs > full.allowed : full.allowed === 0;
  return never ? 'Such a request can never pass under this limit.' : 'It is not known when the next request passes.';
}

/** `5-hour window`, `tier premium, requests per minute`, `30-day token window`, `7-day budget`, `daily budget (UTC)`. */
function labelOf(id: string): string {
  if (id === 'run:budget') return 'budget';
  if (id === 'minute' || id === 'run:minute') return 'requests per minute';
  if (id === 'free') return 'free requests per minute, 20 of which count as one';
  if (id === 'concurrency') return 'concurrency';
  if (id === 'credit') return 'the credit of this account';
  const parts = id.split(':');
  const last = parts.at(-1)!;
  const window = windowOf(last);
  switch (parts[0]) {
    case 'tier': {
      const tier = parts.slice(1, -1).join(':');
      return `tier ${tier}, ${window === null ? 'requests per minute' : windowLabels[window]}`;
    }
    case 'tokens':
      return window === null ? 'tokens per minute' : windowLabels[window].replace('window', 'token window');
    case 'budget':
      return window === null ? calendarLabel(last) : rollingBudgets[window];
    default:
      return window === null ? id : windowLabels[window];
  }
}

/** A rolling window is no week or month of the calendar, which budgets have too. */
const rollingBudgets: Readonly<Record<WindowName, string>> = {
  '5h': '5-hour budget',
  week: '7-day budget',
  month: '30-day budget',
};

/** Label of a calendar window such as `day@Europe/Berlin`. */
function calendarLabel(id: string): string {
  const at = id.indexOf('@');
  const period = periodNames.find((name) => name === id.slice(0, at));
  return period === undefined ? id : `${periodLabels[period]} (${id.slice(at + 1)})`;
}

function windowOf(id: string): WindowName | null {
  return windowNames.find((name) => name === id) ?? null;
}
