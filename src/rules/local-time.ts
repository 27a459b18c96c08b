import { minuteMs } from '../kernel/clock.ts';
/** A moment as clocks and calendars of a time zone show it. */
export interface LocalTime {
  hours: number;
  minutes: number;
  /** From 0, a Sunday. */
  weekday: number;
  /** From 1. */
  day: number;
  /** From 0. */
  month: number;
  year: number;
  /** `HH:MM` */
  clock: string;
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** The local time of a zone, worked out once a minute: Intl takes some microseconds. */
export function localTime(zone: string): (atMs: number) => LocalTime {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  let minute = Number.NaN;
  let last: LocalTime | null = null;
  return (atMs) => {
    const at = Math.floor(atMs / minuteMs);
    if (last !== null && at === minute) return last;
    const parts = Object.fromEntries(format.formatToParts(at * minuteMs).map(({ type, value }) => [type, value]));
    const [hours, minutes] = [Number(parts.hour), Number(parts.minute)];
    minute = at;
    last = {
      hours,
      minutes,
      weekday: weekdays.indexOf(parts.weekday ?? ''),
      day: Number(parts.day),
      month: Number(parts.month) - 1,
      year: Number(parts.year),
      clock: `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`,
    };
    return last;
  };
}

/** Whether this names a time zone, such as Europe/Berlin. */
export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
