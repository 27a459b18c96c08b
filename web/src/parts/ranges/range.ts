import { CalendarPeriod, type PeriodName } from '../../../../src/books/metering/window.ts';

// The range of a page, as its address has it: `24h`, `this-month`, `any`, or `2026-11-01T00:00Z..2026-11-08T00:00Z`.

/** Ranges that end now. */
export const lasting = {
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '365d': 'Last 365 days',
} as const;

/** Ranges of the calendar. Weeks begin on Monday. */
export const calendar = {
  today: 'Today',
  yesterday: 'Yesterday',
  'this-week': 'This week',
  'last-week': 'Last week',
  'this-month': 'This month',
  'last-month': 'Last month',
} as const;

/** No bounds, where a page offers that. */
export const anyTime = 'any';

/** Wall-clock ms. `toMs` is not in; null: it goes on until now. */
export interface Span {
  fromMs: number;
  toMs: number | null;
}

/** How the API takes it. */
export interface SpanQuery {
  from?: string;
  to?: string;
}

export function isRange(text: string): boolean {
  return text === anyTime || Object.hasOwn(lasting, text) || Object.hasOwn(calendar, text) || betweenIn(text) !== null;
}

/** The range between two instants, as an address has it. */
export function between(fromMs: number, toMs: number): string {
  return `${short(fromMs)}..${short(toMs)}`;
}

/** Null for `any`. */
export function spanOf(range: string, nowMs: number, zone: string): Span | null {
  if (range in lasting) return { fromMs: nowMs - lengthOf(range), toMs: null };
  if (range in calendar) return calendarSpan(range as keyof typeof calendar, nowMs, zone);
  return betweenIn(range);
}

/** A range that ends now stays relative, so that the same question is asked again as time goes on. */
export function queryOf(range: string, nowMs: number, zone: string): SpanQuery {
  if (range in lasting) return { from: range };
  const span = spanOf(range, nowMs, zone);
  if (span === null) return {};
  const text = (atMs: number) => new Date(atMs).toISOString();
  return { from: text(span.fromMs), ...(span.toMs !== null && { to: text(span.toMs) }) };
}

const periods = { today: 'day', yesterday: 'day', week: 'week', month: 'month' } as const;

function calendarSpan(range: keyof typeof calendar, nowMs: number, zone: string): Span {
  const unit = range.replace(/^(this|last)-/, '') as keyof typeof periods;
  const period = new CalendarPeriod(periods[unit], zone);
  const startMs = period.startMs(nowMs);
  if (range === 'today' || range.startsWith('this-')) return { fromMs: startMs, toMs: null };
  return { fromMs: period.startMs(startMs - 1), toMs: startMs };
}

function lengthOf(range: string): number {
  return Number.parseInt(range, 10) * (range.endsWith('h') ? 3_600_000 : 86_400_000);
}

function betweenIn(text: string): Span | null {
  const [from, to, ...more] = text.split('..');
  const [fromMs, toMs] = [Date.parse(from ?? ''), Date.parse(to ?? '')];
  return more.length > 0 || !(fromMs < toMs) ? null : { fromMs, toMs };
}

/** `2026-11-01T00:00Z`; with seconds and thousandths only where there are any. */
function short(atMs: number): string {
  return new Date(atMs).toISOString().replace(/(:00)?\.000Z$/, 'Z');
}

/** The beginnings of the days, weeks or months of a span in a zone. The first one may be before it. */
export function beginnings(name: PeriodName, { fromMs, toMs }: { fromMs: number; toMs: number }, zone: string) {
  const period = new CalendarPeriod(name, zone);
  const times: number[] = [];
  for (let atMs = period.startMs(fromMs); atMs < toMs; atMs = period.endMs(atMs)) times.push(atMs);
  return times;
}

/** `2026-11-23T17:44`, as a field of date and time has it, in a zone. */
export function localText(atMs: number, zone: string): string {
  const options = { dateStyle: 'short', timeStyle: 'short', timeZone: zone } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(atMs).replace(' ', 'T');
}

/**
 * The instant at which clocks of a zone show such a text, NaN for none. Where they are set back it is the first one;
 * where they skip the time, the one an hour later.
 */
export function instantOf(text: string, zone: string): number {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return asUtc;
  const ahead = (atMs: number) => Date.parse(`${localText(atMs, zone)}Z`) - Math.floor(atMs / 60_000) * 60_000;
  const dayMs = 86_400_000;
  const found = [asUtc - ahead(asUtc - dayMs), asUtc - ahead(asUtc + dayMs)].sort((a, b) => a - b);
  return found.find((atMs) => localText(atMs, zone) === text) ?? found[1]!;
}

/** Whether days begin between two full hours of UTC there: sums are kept by these. */
export function isBetweenHours(zone: string, nowMs: number): boolean {
  return !localText(Math.floor(nowMs / 3_600_000) * 3_600_000, zone).endsWith(':00');
}
