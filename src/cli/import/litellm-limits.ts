import { type JsonObject, objectsIn } from '../../kernel/json.ts';
import type { Notes, Path } from './notes.ts';

const hourS = 3_600;
const dayS = 24 * hourS;

const windows = [
  { name: '5h', seconds: 5 * hourS, spans: '5 hours' },
  { name: 'week', seconds: 7 * dayS, spans: '7 days' },
  { name: 'month', seconds: 30 * dayS, spans: '30 days' },
] as const;

type WindowName = (typeof windows)[number]['name'];
type Budget = Partial<Record<WindowName, number>>;

/** Limits as a plan or a key has them. */
export interface Limits {
  rpm?: number;
  tpm?: number;
  concurrency?: number;
  /** USD. */
  budget?: Budget;
  calendar_budget?: { day: number };
}

const unitS: Readonly<Record<string, number>> = { s: 1, m: 60, h: hourS, d: dayS, w: 7 * dayS, mo: 30 * dayS };
const words: Readonly<Record<string, string>> = { hourly: '1h', daily: '1d', weekly: '7d', monthly: '30d' };

/** The schema's own. */
const budgetUsdMax = 5_000_000;
const perMinuteMax = 1_000_000_000;

/**
 * Rates and budgets of a row of LiteLLM's, as a plan or the limits of a key have them. Budgets become rolling windows:
 * of the same span where there is one, a day of the calendar, else the next longer one with the same spending over time.
 */
export function limitsOf(row: JsonObject, path: Path, notes: Notes): Limits {
  const limits: Limits = {};
  for (const [column, member] of [
    ['tpm_limit', 'tpm'],
    ['rpm_limit', 'rpm'],
    ['max_parallel_requests', 'concurrency'],
  ] as const) {
    const value = row[column];
    if (typeof value !== 'number') continue;
    limits[member] = Math.min(perMinuteMax, Math.max(1, Math.round(value)));
    if (value < 1) notes.add([...path, column], 'becomes 1: a limit is at least 1 here; suspend the account instead');
  }
  const budgets = budgetsOf(row, path).map(({ max, duration, at }) => budgetOf(max, duration, at, notes));
  return tightest([limits, ...budgets]);
}

/** Limits that all of them allow. */
export function tightest(all: readonly Limits[]): Limits {
  const limits: Limits = {};
  for (const member of ['tpm', 'rpm', 'concurrency'] as const) {
    const least = leastOf(all.map((one) => one[member]));
    if (least !== undefined) limits[member] = least;
  }
  // A shorter window that allows more than a longer one could never be used.
  const budget = windows.flatMap(({ name }, at) => {
    if (all.every((one) => one.budget?.[name] === undefined)) return [];
    const longer = windows.slice(at).flatMap((window) => all.map((one) => one.budget?.[window.name]));
    return [[name, leastOf(longer)]];
  });
  if (budget.length > 0) limits.budget = Object.fromEntries(budget);
  const day = leastOf(all.map((one) => one.calendar_budget?.day));
  if (day !== undefined) limits.calendar_budget = { day };
  return limits;
}

function leastOf(values: readonly (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

function budgetsOf(row: JsonObject, path: Path) {
  const budgets = objectsIn(row.budget_limits);
  const all = [
    { ...row, at: [...path, 'max_budget'] },
    ...budgets.map((one, index) => ({ ...one, at: [...path, 'budget_limits', index] })),
  ] as (JsonObject & { at: Path })[];
  return all.flatMap(({ max_budget: max, budget_duration: duration, at }) =>
    typeof max === 'number' && max >= 0 ? [{ max, duration: typeof duration === 'string' ? duration : null, at }] : [],
  );
}

/** USD `max` for a `duration`, null: for ever, as a rolling window. A note at `at` says what is different. */
export function budgetOf(max: number, duration: string | null, at: Path, notes: Notes): Limits {
  const seconds = duration === null ? null : secondsOf(duration);
  const month = windows[2];
  if (seconds === null) {
    const for_ = duration === null ? 'without an end' : `for ${duration}`;
    notes.add(at, `USD ${max} ${for_} become USD ${max} in any ${month.spans}: budgets are rolling windows here`);
    return { budget: { [month.name]: Math.min(budgetUsdMax, max) } };
  }
  // Budgets of a day begin at midnight there, too.
  if (seconds === dayS) return { calendar_budget: { day: Math.min(budgetUsdMax, max) } };
  const window = windows.find((one) => seconds <= one.seconds) ?? month;
  const usd = Math.min(budgetUsdMax, Math.round(max * (window.seconds / seconds) * 1e6) / 1e6);
  if (window.seconds !== seconds) notes.add(at, `USD ${max} for ${duration} become USD ${usd} in any ${window.spans}`);
  return { budget: { [window.name]: usd } };
}

/** `30d`, `1mo`, `weekly`; null where it is none. */
function secondsOf(duration: string): number | null {
  const text = duration.trim().toLowerCase();
  const [, count, unit = ''] = /^(\d{1,6})(mo|[smhdw])$/.exec(words[text] ?? text) ?? [];
  const seconds = Number(count) * (unitS[unit] ?? 0);
  return seconds > 0 ? seconds : null;
}
