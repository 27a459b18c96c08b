import { hourMs, minuteMs } from '../../kernel/clock.ts';

/** The three rolling windows of a plan, as config, errors and headers name them. */
export type WindowName = '5h' | 'week' | 'month';

/** Everything that is counted over time: the windows, and the minute of rpm and tpm. */
export type SpanName = 'minute' | WindowName;

/**
 * A rolling span and the buckets it is counted in. Bucket `b` holds [b · bucketMs, (b + 1) · bucketMs) and counts until
 * its *end* has left the span, so that no true sliding window is ever above the limit: `spanMs / bucketMs + 1` buckets
 * live at once, and a unit returns at most one bucket late (design §11).
 */
export interface Span {
  name: SpanName;
  spanMs: number;
  bucketMs: number;
}

export const spans: Readonly<Record<SpanName, Span>> = {
  minute: { name: 'minute', spanMs: minuteMs, bucketMs: 1_000 },
  '5h': { name: '5h', spanMs: 5 * hourMs, bucketMs: minuteMs },
  week: { name: 'week', spanMs: 7 * 24 * hourMs, bucketMs: hourMs },
  month: { name: 'month', spanMs: 30 * 24 * hourMs, bucketMs: hourMs },
};

export const windowNames: readonly WindowName[] = ['5h', 'week', 'month'];

/** In messages: `Rate limit exceeded: 5-hour window, …`. */
export const windowLabels: Readonly<Record<WindowName, string>> = {
  '5h': '5-hour window',
  week: '7-day window',
  month: '30-day window',
};

/** Periods of the calendar that budgets count in: days, weeks that begin on Monday, months. */
export type PeriodName = 'day' | 'week' | 'month';

export const periodNames: readonly PeriodName[] = ['day', 'week', 'month'];

/** In messages: `Rate limit exceeded: daily budget (Europe/Berlin), …`. */
export const periodLabels: Readonly<Record<PeriodName, string>> = {
  day: 'daily budget',
  week: 'budget of the calendar week',
  month: 'budget of the calendar month',
};

/** The longest of them, with the hour that a change of the clock may add. */
export const periodMaxMs = 31 * 24 * hourMs + hourMs;

/**
 * One period in a time zone (IANA). It is counted in the hours of `spans.month`: where a zone is half an hour off, it
 * begins with the first full hour in UTC.
 */
export class CalendarPeriod {
  readonly name: PeriodName;
  readonly zone: string;
  #startMs = 0;
  #endMs = 0;
  #dates: Intl.DateTimeFormat | null = null;

  /** Throws a RangeError for a time zone that is none. */
  constructor(name: PeriodName, zone: string) {
    this.name = name;
    this.zone = zone;
    new Intl.DateTimeFormat('en', { timeZone: zone });
  }

  /** Name in limits, headers and counters: `month@Europe/Berlin`. */
  get id(): string {
    return `${this.name}@${this.zone}`;
  }

  startMs(nowMs: number): number {
    this.#look(nowMs);
    return this.#startMs;
  }

  /** Beginning of the next one. */
  endMs(nowMs: number): number {
    this.#look(nowMs);
    return this.#endMs;
  }

  #look(nowMs: number): void {
    if (nowMs >= this.#startMs && nowMs < this.#endMs) return;
    const today = new Date(`${this.#dateAt(Math.floor(nowMs / hourMs) * hourMs)}T00:00:00Z`);
    const first = new Date(today);
    const next = new Date(today);
    if (this.name === 'month') {
      first.setUTCDate(1);
      next.setUTCDate(1);
      next.setUTCMonth(next.getUTCMonth() + 1);
    } else {
      // Sunday is 0.
      if (this.name === 'week') first.setUTCDate(first.getUTCDate() - ((first.getUTCDay() + 6) % 7));
      next.setTime(first.getTime() + (this.name === 'week' ? 7 : 1) * 24 * hourMs);
    }
    this.#startMs = this.#beginsMs(first);
    this.#endMs = this.#beginsMs(next);
  }

  /** The first full hour in UTC that is on this date or later in the zone. No zone is further than 14 hours ahead. */
  #beginsMs(date: Date): number {
    const localDate = date.toISOString().slice(0, 10);
    let atMs = date.getTime() - 15 * hourMs;
    while (this.#dateAt(atMs) < localDate) atMs += hourMs;
    return atMs;
  }

  /** `2026-11-23` */
  #dateAt(atMs: number): string {
    this.#dates ??= new Intl.DateTimeFormat('en-CA', { timeZone: this.zone, dateStyle: 'short' });
    return this.#dates.format(atMs);
  }
}

/** The bucket that an instant falls in. */
export function bucketAt(span: Span, atMs: number): number {
  return Math.floor(atMs / span.bucketMs);
}

/** The instant at which a bucket has left the span and its count is free. */
export function bucketLeavesAtMs(span: Span, bucket: number): number {
  return (bucket + 1) * span.bucketMs + span.spanMs;
}
