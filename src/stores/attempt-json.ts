import type { MeteredUsage } from '../metering/charge.ts';
import type { UsageAttempt } from '../metering/ledger.ts';

/**
 * The attempts of an event as its column `attempts`: JSON, one array an attempt, since the names of thirteen fields
 * would be most of the text. Order: see `Row`; provider and model are in the target.
 */
export function attemptsJson(attempts: readonly UsageAttempt[]): string {
  if (attempts.length === 0) return '[]';
  const rows: Row[] = [];
  for (let at = 0; at < attempts.length; at += 1) {
    const attempt = attempts[at]!;
    rows.push([
      attempt.target,
      attempt.credential,
      attempt.class,
      attempt.status,
      Math.round(attempt.ms),
      attempt.firstTokenMs === null ? null : Math.round(attempt.firstTokenMs),
      attempt.bytes,
      attempt.usage,
      attempt.usageSource,
      attempt.costUsd,
      attempt.message,
    ]);
  }
  return JSON.stringify(rows);
}

export function attemptsOf(text: string): UsageAttempt[] {
  return (JSON.parse(text) as Row[]).map(
    ([target, credential, class_, status, ms, firstTokenMs, bytes, usage, usageSource, costUsd, message]) => {
      const slash = target.indexOf('/');
      return {
        target,
        provider: target.slice(0, slash),
        model: target.slice(slash + 1),
        credential,
        class: class_,
        status,
        ms,
        firstTokenMs,
        bytes,
        usage,
        usageSource,
        costUsd,
        message,
      };
    },
  );
}

type Row = [
  target: string,
  credential: string,
  class_: string,
  status: number | null,
  ms: number,
  firstTokenMs: number | null,
  bytes: number,
  usage: MeteredUsage | null,
  usageSource: string,
  costUsd: number | null,
  message: string | null,
];
