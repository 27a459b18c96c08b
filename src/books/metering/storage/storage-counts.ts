import type { Clock } from '../../../kernel/clock.ts';

/** Kinds that are measured now and then: what goes is seen at the next measuring. */
export type MeasuredKind = 'pages' | 'crawls' | 'replies' | 'responses' | 'files';
/** Kinds that are counted as they come. */
export type StoredKind = MeasuredKind | 'pictures';

/** `bytes` that an account stored at `atMs`, by the wall clock; below 0: removed. */
export interface StoredChange {
  account: string;
  kind: StoredKind;
  bytes: number;
  atMs: number;
}

export interface StoredBytes {
  account: string;
  kind: MeasuredKind;
  bytes: number;
}

/** Data that accounts keep, as far as it is known without asking the stores. */
export interface StorageCounts {
  of(account: string): Record<StoredKind, number>;
  /** `bytes` below 0: so many were removed. */
  add(account: string, kind: StoredKind, bytes: number): void;
  /** Others have stored these, over the same stores. */
  addElsewhere(changes: readonly StoredChange[]): void;
  isMeasured(): boolean;
  /** Resolves when what is known is at most this old. Never rejects. */
  renewed(olderThanMs: number): Promise<void>;
}

export interface StorageCountsParts {
  /** Reads from the stores what everybody keeps. May reject: then the earlier numbers stay. */
  measure(): Promise<readonly StoredBytes[]>;
  clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
}

/** Measuring takes at most one part in so many of the time. */
const measureShare = 20;
/** Pictures are removed when their links end, an hour after they were made. */
const pictureMs = 3_600_000;
const minuteMs = 60_000;

export function createStorageCounts({ measure, clock }: StorageCountsParts): StorageCounts {
  let measured = new Map<string, Map<MeasuredKind, number>>();
  let measuredMs = Number.NEGATIVE_INFINITY;
  /** By the wall clock, which other processes have too: the measure in force, or under way, has all from before. */
  let sinceMs = Number.NEGATIVE_INFINITY;
  let measureTookMs = 0;
  let measuring: Promise<void> | null = null;
  /** Kept while it was measured: the measure may have come too early for them, so they count twice until the next. */
  let addedMeanwhile: StoredBytes[] = [];
  const pictures = createPictureBytes(clock);

  async function measureNow(): Promise<void> {
    const startMs = clock.monotonicMs();
    sinceMs = clock.wallMs();
    addedMeanwhile = [];
    try {
      const counts = await measure();
      measured = new Map();
      for (const { account, kind, bytes } of [...counts, ...addedMeanwhile]) addTo(measured, account, kind, bytes);
    } catch {
      // A part that cannot be read now is read next time.
    }
    measuredMs = clock.monotonicMs();
    measureTookMs = measuredMs - startMs;
  }

  function add(account: string, kind: StoredKind, bytes: number): void {
    if (kind === 'pictures') return pictures.add(account, bytes);
    if (measuring !== null && bytes > 0) addedMeanwhile.push({ account, kind, bytes });
    addTo(measured, account, kind, bytes);
  }

  return {
    of(account) {
      const of = measured.get(account);
      return {
        pages: of?.get('pages') ?? 0,
        crawls: of?.get('crawls') ?? 0,
        pictures: pictures.of(account),
        replies: of?.get('replies') ?? 0,
        responses: of?.get('responses') ?? 0,
        files: of?.get('files') ?? 0,
      };
    },
    add,
    addElsewhere(changes) {
      for (const { account, kind, bytes, atMs } of changes) {
        if (kind === 'pictures' || atMs >= sinceMs) add(account, kind, bytes);
      }
    },
    isMeasured: () => measuredMs !== Number.NEGATIVE_INFINITY,
    renewed(olderThanMs) {
      if (clock.monotonicMs() - measuredMs <= Math.max(olderThanMs, measureShare * measureTookMs))
        return Promise.resolve();
      measuring ??= measureNow().finally(() => {
        measuring = null;
      });
      return measuring;
    },
  };
}

function createPictureBytes(clock: Pick<Clock, 'monotonicMs'>) {
  /** Bytes by account, by the minute in which they were kept: at most 61 of them. */
  const pictures = new Map<number, Map<string, number>>();
  return {
    add(account: string, bytes: number): void {
      const minute = Math.floor(clock.monotonicMs() / minuteMs);
      const minuteBytes = pictures.get(minute) ?? new Map<string, number>();
      pictures.set(minute, minuteBytes);
      minuteBytes.set(account, (minuteBytes.get(account) ?? 0) + bytes);
    },
    of(account: string): number {
      const oldest = Math.floor((clock.monotonicMs() - pictureMs) / minuteMs);
      let bytes = 0;
      for (const [minute, minuteBytes] of pictures) {
        if (minute < oldest) pictures.delete(minute);
        else bytes += minuteBytes.get(account) ?? 0;
      }
      return bytes;
    },
  };
}

function addTo(
  totals: Map<string, Map<MeasuredKind, number>>,
  account: string,
  kind: MeasuredKind,
  bytes: number,
): void {
  const of = totals.get(account) ?? new Map<MeasuredKind, number>();
  totals.set(account, of);
  of.set(kind, Math.max(0, (of.get(kind) ?? 0) + bytes));
}
