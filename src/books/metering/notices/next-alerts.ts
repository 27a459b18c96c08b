import type { AlertRow } from './alert-store.ts';

/** Something that is wrong, which an operator is to be called for. */
export interface SeenAlert {
  /** The same as long as it lasts, such as `provider openai`. */
  name: string;
  severity: 'warning' | 'problem';
  /** A sentence, with the amounts of this moment. */
  text: string;
  fix: string | null;
}

/** Rows of ended problems are kept this long for their `quietMs`. */
const forgottenMs = 2 * 86_400_000;

export interface AlertChange {
  /** Rows that are new or changed. */
  write: AlertRow[];
  /** Names of rows that say nothing any more. */
  forget: string[];
  raised: AlertRow[];
  resolved: AlertRow[];
}

const rank = { none: 0, warning: 1, problem: 2 } as const;

/**
 * Changes of a look. `overMs`: problems that nobody has seen since then are over; null while that is unknown. An alert
 * that comes again within `quietMs` of its last report waits. A warning that becomes a problem is reported at once, and
 * so is its end.
 */
export function nextAlerts(
  rows: readonly AlertRow[],
  seen: readonly SeenAlert[],
  { nowMs, overMs, quietMs }: { nowMs: number; overMs: number | null; quietMs: number },
): AlertChange {
  const change: AlertChange = { write: [], forget: [], raised: [], resolved: [] };
  const known = new Map(rows.map((row) => [row.name, row]));
  for (const { name, severity, text, fix } of new Map(seen.map((one) => [one.name, one])).values()) {
    const before = known.get(name);
    known.delete(name);
    const lasts = before !== undefined && before.severity !== 'none';
    const sinceMs = lasts ? before.sinceMs : nowMs;
    const lastReported = lasts ? before.reported : 'none';
    const row: AlertRow = {
      name,
      severity,
      text,
      fix,
      sinceMs,
      seenMs: nowMs,
      reported: lastReported,
      reportedMs: before?.reportedMs ?? null,
    };
    const isWorse = lastReported !== 'none' && rank[severity] > rank[lastReported];
    // A report with a time in the future comes from a wrong clock.
    const isQuiet = row.reportedMs !== null && nowMs >= row.reportedMs && nowMs - row.reportedMs < quietMs;
    if (isWorse || (lastReported === 'none' && !isQuiet)) {
      row.reported = severity;
      row.reportedMs = nowMs;
      change.raised.push(row);
    }
    change.write.push(row);
  }
  for (const row of known.values()) {
    if (row.severity === 'none') {
      if (nowMs - row.seenMs > forgottenMs) change.forget.push(row.name);
    } else if (overMs !== null && row.seenMs < overMs) {
      if (row.reported !== 'none') change.resolved.push(row);
      change.write.push({ ...row, severity: 'none', reported: 'none' });
    }
  }
  return change;
}
