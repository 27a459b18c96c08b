import type { Ledger, UsageEvent } from './ledger.ts';
import { type Refusal, refusalEvent } from './refusal.ts';

/** For one reason and one account; callers without a key count as one account. */
export const linesPerSecond = 10;
const linesPerSecondOfAll = 200;
export const recordsPerHour = 60;
/** Maximum number of rows. Retention is then bounded: 30 days of nothing but floods are 720,000 rows, some 300 MB. */
const recordsPerHourOfAll = 1_000;
/** The newest of each reason, found by their id whether or not they are on disk. */
const recentOfReason = 500;

/** Refused requests: those that are written to the log and the ledger, and the newest of all by their id. */
export type Refusals = ReturnType<typeof createRefusals>;

/**
 * A flood of refusals must neither fill the disk nor delay callers who pay: all are counted (metrics), and some are
 * recorded. No timer, no promise: an addition and two look-ups a refusal.
 */
export function createRefusals(ledger: Pick<Ledger, 'note'>) {
  const lines = createAllowance(1_000, linesPerSecond, linesPerSecondOfAll);
  const records = createAllowance(3_600_000, recordsPerHour, recordsPerHourOfAll);
  /** By reason, of which there are as many as kinds of failure; each is a ring. */
  const recent = new Map<string, { next: number; ring: Refusal[] }>();

  function remember(refusal: Refusal): void {
    let sameReason = recent.get(refusal.reason);
    if (sameReason === undefined) {
      sameReason = { next: 0, ring: [] };
      recent.set(refusal.reason, sameReason);
    }
    sameReason.ring[sameReason.next] = refusal;
    sameReason.next = (sameReason.next + 1) % recentOfReason;
  }

  return {
    /** Keeps it; whether it deserves a line in the log. */
    add(refusal: Refusal): 'line' | 'counted' {
      remember(refusal);
      const { atMs, ms } = refusal;
      const group = `${refusal.reason} ${refusal.limit} ${refusal.account}`;
      if (isOfCallers(refusal) && records.take(group, atMs + ms)) ledger.note(refusalEvent(refusal));
      return lines.take(group, atMs + ms) ? 'line' : 'counted';
    },
    /** One of the newest, by our id or the caller's, within one account (null = any). */
    find(id: string, account: string | null): UsageEvent | null {
      for (const { ring } of recent.values()) {
        const found = ring.find(
          (one) =>
            (one.requestId === id || one.clientRequestId === id) && (account === null || one.account === account),
        );
        if (found !== undefined) return refusalEvent(found);
      }
      return null;
    },
  };
}

/**
 * Whether a request belongs among those of callers. An operator's own mistakes, such as a field that a form got wrong, do
 * not: they answer at once. Attempts at the admin API without the right to it do.
 */
function isOfCallers({ endpoint, status }: Refusal): boolean {
  return endpoint !== 'admin' || status === 401 || status === 403;
}

/** Bounds of each span of `spanMs`, for one name and for all. Never more than `ofAll` names are known. */
function createAllowance(spanMs: number, ofOne: number, ofAll: number) {
  let span = Number.NaN;
  let takenOfAll = 0;
  const taken = new Map<string, number>();
  return {
    take(name: string, nowMs: number): boolean {
      const now = Math.floor(nowMs / spanMs);
      if (now !== span) {
        span = now;
        takenOfAll = 0;
        taken.clear();
      }
      if (takenOfAll >= ofAll) return false;
      const before = taken.get(name) ?? 0;
      if (before >= ofOne) return false;
      taken.set(name, before + 1);
      takenOfAll += 1;
      return true;
    },
  };
}
