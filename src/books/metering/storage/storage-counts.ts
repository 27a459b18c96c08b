import type { Clock } from '../../../kernel/clock.ts';

/** Kinds that are measured now and then: what goes is seen at the next measuring. */
export type StoredKind = 'pages' | 'crawls' | 'pictures' | 'replies' | 'responses' | 'files';

/** `bytes` that an account stored at `atMs`, by the wall clock; below 0: removed. */
export interface StoredChange {
  account: string;
  kind: StoredKind;
  bytes: number;
  atMs: number;
}

export interface StoredBytes {
  account: string;
  kind: StoredKind;
  bytes: number;
}

export interface StorageCountsParts {
  /** Reads from the stores what everybody keeps at `nowMs`. May reject: then the earlier numbers stay. */
  measure(nowMs: number): Promise<readonly StoredBytes[]>;
  clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
}

/** Measuring takes at most one part in so many of the time. */
const measureShare = 20;

/** Data that accounts keep, as far as it is known without asking the stores. */
export function createStorageCounts({ measure, clock }: StorageCountsParts) {
  let measured = new Map<string, Map<StoredKind, number>>();
  let measuredMs = Number.NEGATIVE_INFINITY;
  /** By the wall clock, which other processes have too: the measure in force, or under way, has all from before. */
  let sinceMs = Number.NEGATIVE_INFINITY;
  let measureTookMs = 0;
  let measuring: Promise<void> | null = null;
  /** Kept while it was measured: the measure may have come too early for them, so they count twice until the next. */
  let addedMeanwhile: StoredBytes[] = [];

  async function measureNow(): Promise<void> {
    const startMs = clock.monotonicMs();
    sinceMs = clock.wallMs();
    addedMeanwhile = [];
    try {
      const counts = await measure(sinceMs);
      measured = new Map();
      for (const { account, kind, bytes } of [...counts, ...addedMeanwhile]) addTo(measured, account, kind, bytes);
    } catch {
      // A part that cannot be read now is read next time.
    }
    measuredMs = clock.monotonicMs();
    measureTookMs = measuredMs - startMs;
  }

  function add(account: string, kind: StoredKind, bytes: number): void {
    if (measuring !== null && bytes > 0) addedMeanwhile.push({ account, kind, bytes });
    addTo(measured, account, kind, bytes);
  }

  return {
    of: (account: string): Partial<Record<StoredKind, number>> => Object.fromEntries(measured.get(account) ?? []),
    /** `bytes` below 0: so many were removed. */
    add,
    /** Others have stored these, over the same stores. */
    addElsewhere(changes: readonly StoredChange[]): void {
      for (const { account, kind, bytes, atMs } of changes) {
        if (atMs >= sinceMs) add(account, kind, bytes);
      }
    },
    isMeasured: (): boolean => measuredMs !== Number.NEGATIVE_INFINITY,
    /** Resolves when what is known is at most this old. Never rejects. */
    renewed(olderThanMs: number): Promise<void> {
      if (clock.monotonicMs() - measuredMs <= Math.max(olderThanMs, measureShare * measureTookMs))
        return Promise.resolve();
      measuring ??= measureNow().finally(() => {
        measuring = null;
      });
      return measuring;
    },
  };
}

function addTo(totals: Map<string, Map<StoredKind, number>>, account: string, kind: StoredKind, bytes: number): void {
  const of = totals.get(account) ?? new Map<StoredKind, number>();
  totals.set(account, of);
  of.set(kind, Math.max(0, (of.get(kind) ?? 0) + bytes));
}
