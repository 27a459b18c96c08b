import type { Charge, UsageAttempt } from './settled-request.ts';

/** An attempt in its column: an array, since the names of fourteen fields would be most of the text. */
type AttemptCells = [
  target: string,
  credential: string,
  class_: string,
  status: number | null,
  ms: number,
  firstTokenMs: number | null,
  bytes: number,
  usage: Charge['usage'] | null,
  usageSource: string,
  costUsd: number | null,
  message: string | null,
  /** Last: rows of earlier versions end before it. */
  startMs?: number | null,
];

/** Attempts as the column `attempts` keeps them. Times are rounded to whole ms. */
export function attemptsJson(attempts: readonly UsageAttempt[]): string {
  if (attempts.length === 0) return '[]';
  return JSON.stringify(attempts.map(cellsOfAttempt));
}

function cellsOfAttempt(one: UsageAttempt): AttemptCells {
  const { target, credential, status, ms, firstTokenMs, bytes, usage, usageSource, costUsd, message, startMs } = one;
  const head = [target, credential, one.class, status, Math.round(ms), wholeOrNull(firstTokenMs)] as const;
  return [...head, bytes, usage, usageSource, costUsd, message, wholeOrNull(startMs)];
}

function wholeOrNull(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** What `attemptsJson` wrote, in this version or an earlier one. */
export function attemptsOf(text: string): UsageAttempt[] {
  return (JSON.parse(text) as AttemptCells[]).map(attemptOfCells);
}

function attemptOfCells(cells: AttemptCells): UsageAttempt {
  const [target, credential, class_, status, ms, firstTokenMs, bytes, usage, usageSource, costUsd, message] = cells;
  // Provider and model are in the target.
  const slash = target.indexOf('/');
  const [provider, model] = [target.slice(0, slash), target.slice(slash + 1)];
  const times = { startMs: cells[11] ?? null, ms, firstTokenMs };
  const used = { bytes, usage, usageSource, costUsd };
  return { target, provider, model, credential, class: class_, status, ...times, ...used, message };
}
