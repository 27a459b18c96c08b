// How numbers, money and times are written everywhere: `1,204`, `1.2M`, `$0.0042`, `312 ms`, `2 min ago`.

import { shownZone } from './ranges/zone.ts';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const hundredths = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });

/** Exact, with separators; fractions to two places. */
export function count(value: number): string {
  return Number.isInteger(value) ? whole.format(value) : hundredths.format(value);
}

const large = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e4, 'k'],
] as const;

/** `9,812`, `12.3k`, `1.2M`: four signs for a narrow column. Exact below 10,000. */
export function short(value: number): string {
  for (const [from, unit] of large) {
    // 999,999 is 1M, and not 1,000k.
    if (Math.abs(value) < (unit === 'k' ? from : from * 0.9995)) continue;
    const scaled = value / (unit === 'k' ? 1e3 : from);
    return `${Math.abs(scaled) >= 100 ? whole.format(scaled) : tenths.format(scaled)}${unit}`;
  }
  return count(value);
}

/** USD: cents from a dollar on, two figures that count below one; `$0` for nothing. */
export function usd(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (size === 0) return '$0';
  if (size >= 10_000) return `${sign}$${short(size)}`;
  if (size >= 0.1)
    return `${sign}$${size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  if (size < 0.000_001) return `${sign}<$0.000001`;
  return `${sign}$${size.toLocaleString('en-US', { maximumSignificantDigits: 2 })}`;
}

/** USD as a price has them: `$3.00`, `$0.125`, `$0.0000001`. Twelve decimals leave out the error of a sum. */
export function exactUsd(value: number): string {
  if (value === 0) return '$0';
  const size = Math.abs(value).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 12 });
  return `${value < 0 ? '−' : ''}$${size}`;
}

/** `4.2%`, `0.31%`, `12%`; 0 to 1 in. */
export function percent(share: number): string {
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.01) return '<0.01%';
  return `${Math.abs(value) >= 10 ? whole.format(value) : Math.abs(value) >= 1 ? tenths.format(value) : hundredths.format(value)}%`;
}

/** A duration: `312 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function span(ms: number): string {
  if (ms < 1) return '<1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${tenths.format(ms / 1_000)} s`;
  const steps = [
    [86_400_000, 'd', 3_600_000, 'h'],
    [3_600_000, 'h', 60_000, 'min'],
    [60_000, 'min', 1_000, 's'],
  ] as const;
  const [big, bigName, small, smallName] = steps.find(([from]) => ms >= from)!;
  const head = Math.floor(ms / big);
  const rest = Math.floor((ms % big) / small);
  return rest === 0 ? `${head} ${bigName}` : `${head} ${bigName} ${rest} ${smallName}`;
}

/** `1.2 GB`, in powers of 1,000. */
export function bytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const at = Math.min(units.length - 1, size < 1 ? 0 : Math.floor(Math.log10(size / 0.99995) / 3));
  return `${tenths.format(size / 1_000 ** at)} ${units[at]}`;
}

/** The time of the server may be so far ahead of a browser's clock. */
const clockSkewMs = 2_000;

/** `just now`, `2 min ago`, `in 3 h`, `5 d ago`; a date beyond 30 days. */
export function ago(atMs: number, nowMs: number): string {
  const distance = nowMs - atMs;
  const size = Math.abs(distance);
  if (size < 10_000) return distance > -clockSkewMs ? 'just now' : 'in a moment';
  if (size > 30 * 86_400_000) return day(atMs);
  const [value, unit] =
    size < 60_000
      ? [size / 1_000, 's']
      : size < 3_600_000
        ? [size / 60_000, 'min']
        : size < 86_400_000
          ? [size / 3_600_000, 'h']
          : [size / 86_400_000, 'd'];
  const text = `${Math.floor(value)} ${unit}`;
  return distance >= 0 ? `${text} ago` : `in ${text}`;
}

/** `21 Nov 2026`, in the reader's zone. */
export function day(atMs: number): string {
  return write(atMs, { day: 'numeric', month: 'short', year: 'numeric' });
}

/** `21 Nov 2026, 17:44:32`, in the reader's zone. */
export function instant(atMs: number): string {
  return `${day(atMs)}, ${clock(atMs)}`;
}

/** `17:44:32`. */
export function clock(atMs: number): string {
  return write(atMs, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** `17:44:32` of today, else `20 Nov 17:44`. */
export function moment(atMs: number, nowMs: number): string {
  if (day(atMs) === day(nowMs)) return clock(atMs);
  return `${write(atMs, { day: 'numeric', month: 'short' })} ${clock(atMs).slice(0, 5)}`;
}

/** By zone and parts: to make one takes a hundred times longer than to use it. */
const writers = new Map<string, Intl.DateTimeFormat>();

function write(atMs: number, parts: Intl.DateTimeFormatOptions): string {
  const zone = shownZone();
  const name = `${zone} ${Object.keys(parts).join()}`;
  let writer = writers.get(name);
  if (writer === undefined) {
    writer = new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: zone });
    writers.set(name, writer);
  }
  return writer.format(atMs);
}

/** `1 request`, `3 requests`. */
export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}
