import { instant, parseDistanceMs } from '../config/scalars.ts';
import { CommandFailed } from './command-failed.ts';

/** Value of an option such as `--expires`: `2027-01-01`, an RFC 3339 time, or `90d` from now; undefined where it was not given. */
export function futureInstant(option: string, text: string | undefined, nowMs: number): string | undefined {
  if (text === undefined) return undefined;
  const atMs = instantMs(option, text, nowMs, 1);
  if (atMs <= nowMs) throw new CommandFailed(`${option}: ${text} is in the past`, 2);
  return new Date(atMs).toISOString();
}

/** The same for `--from` and the like, where `7d` is that long ago, for a query; undefined where it was not given. */
export function pastInstant(option: string, text: string | undefined, nowMs: number): string | undefined {
  return text === undefined ? undefined : new Date(instantMs(option, text, nowMs, -1)).toISOString();
}

/** The span of `--from` and `--to`, for a query. */
export function pastSpan({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const nowMs = Date.now();
  return { from: pastInstant('--from', from, nowMs), to: pastInstant('--to', to, nowMs) };
}

function instantMs(option: string, text: string, nowMs: number, direction: 1 | -1): number {
  const durationMs = parseDistanceMs(text);
  if (durationMs !== undefined) return nowMs + direction * durationMs;
  const parsed = instant().safeParse(text);
  if (!parsed.success) throw new CommandFailed(`${option}: expected a date such as 2027-01-01, or 90d`, 2);
  return parsed.data;
}
