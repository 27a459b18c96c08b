import { hourMs } from '../../kernel/clock.ts';

/**
 * Days of a time zone, in the hours of UTC in which usage is summed: how many hours the zone is ahead until an instant,
 * oldest first. An hour belongs to the date that its first instant has there, so where a zone is half an hour off, a
 * day begins with the first full hour of UTC.
 */
export type ZoneDays = readonly { untilHour: number; ahead: number }[];

/** No zone changes its clock twice within it. */
const stepHours = 7 * 24;
/** Before it the earliest offset that was looked up counts. */
const cachedHours = 20 * 366 * 24;

/** Days of a range of hours. Throws a RangeError for a time zone that is none. */
export function zoneDays(zone: string, { fromMs, toMs }: { fromMs: number; toMs: number }): ZoneDays {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset', hour: 'numeric' });
  const aheadAt = (hour: number) => hoursIn(format.format(hour * hourMs));
  const end = Math.ceil(toMs / hourMs);
  const days: { untilHour: number; ahead: number }[] = [];
  let at = Math.max(Math.floor(fromMs / hourMs), end - cachedHours);
  let ahead = aheadAt(at);
  while (at < end) {
    const next = Math.min(at + stepHours, end);
    const then = aheadAt(next);
    if (then !== ahead) {
      days.push({ untilHour: firstWith(then, aheadAt, at, next), ahead });
      ahead = then;
    }
    at = next;
  }
  return [...days, { untilHour: Number.POSITIVE_INFINITY, ahead }];
}

/** SQL for the day of an hour, a whole number since 1970. */
export function dayOfHourSql(days: ZoneDays, hour: string): string {
  const cases = days
    .filter(({ untilHour }) => Number.isFinite(untilHour))
    .map(({ untilHour, ahead }) => `WHEN ${hour} < ${untilHour} THEN ${ahead}`);
  const last = days.at(-1)?.ahead ?? 0;
  return `(${hour} + ${cases.length === 0 ? last : `CASE ${cases.join(' ')} ELSE ${last} END`}) / 24`;
}

/** `GMT+05:30` → 5, `GMT-03:30` → -4, `GMT` → 0. */
function hoursIn(formatted: string): number {
  const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(formatted) ?? [];
  const ahead = Number(hours ?? 0) + Number(minutes ?? 0) / 60;
  return Math.floor(sign === '-' ? -ahead : ahead);
}

/** The first hour after `low` that has this offset; `high` has it. */
function firstWith(ahead: number, aheadAt: (hour: number) => number, low: number, high: number): number {
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (aheadAt(middle) === ahead) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * A calendar month such as `2026-10` of a time zone, as ms: from the first hour of UTC that belongs to it to the first
 * that does not. Throws a RangeError for a time zone that is none.
 */
export function zoneMonth(month: string, zone: string): { fromMs: number; toMs: number } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { fromMs: firstHourMs(year, number - 1, zone), toMs: firstHourMs(year, number, zone) };
}

/** No zone is further from UTC. */
const aheadMax = 15;

function firstHourMs(year: number, monthIndex: number, zone: string): number {
  const local = Date.UTC(year, monthIndex, 1) / hourMs;
  const around = { fromMs: (local - 2 * aheadMax) * hourMs, toMs: (local + 2 * aheadMax) * hourMs };
  const days = zoneDays(zone, around);
  let hour = local - aheadMax;
  while (hour + (days.find(({ untilHour }) => hour < untilHour)?.ahead ?? 0) < local) hour += 1;
  return hour * hourMs;
}
