import type { Clock } from '../kernel/clock.ts';
import { type Failure, FailureError, type QuotaExceeded } from '../kernel/failure.ts';
import { createStorageHolds, type StorageHold } from './storage-hold.ts';

/** What an account keeps on this server. */
export type StorageKind = 'vectors' | 'pages' | 'crawls' | 'pictures' | 'replies' | 'responses' | 'files' | 'uploads';

/** Kinds that are counted as they come, and measured again now and then: what goes is seen at the next measuring. */
export type MeasuredKind = 'pages' | 'crawls' | 'replies' | 'responses' | 'files';

/** Kinds that are counted as they come. */
export type KeptKind = MeasuredKind | 'pictures';

export interface KeptBytes {
  account: string;
  kind: MeasuredKind;
  bytes: number;
}

export interface StorageParts {
  /** Bytes that the account's plan allows; null: unlimited. */
  allowed(account: string): number | null;
  /** The vector store's count of an account; null when nobody counts. */
  vectors(account: string): Promise<number | null>;
  /** Bytes of uploads that wait for their requests to end. */
  uploads(account: string): number;
  /** Reads from the stores what everybody keeps. May reject: then the earlier numbers stay. */
  measure(): Promise<readonly KeptBytes[]>;
  /** Why nothing large may be kept on the disk at all (503); null when it may. */
  room(): Failure | null;
  clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * How many bytes accounts store, against their plans. Exact except for bytes that are on their way, and for recent
 * deletions.
 */
export interface StorageBook {
  /** Null when the account may keep more: else 429 of its plan, or 503 of the disk. Never rejects. */
  mayKeep(account: string): Promise<Failure | null>;
  /** For bytes that come slowly, when others of the account do too. What `mayKeep` refuses, else a hold. Never rejects. */
  hold(account: string): Promise<StorageHold | Failure>;
  /**
   * For work that adds about `bytes`, which are held until it has ended: of several at once, those that come when the
   * plan is full are refused. What `mayKeep` refuses, else a hold. Never rejects.
   */
  expect(account: string, bytes: number): Promise<StorageHold | Failure>;
  /**
   * Runs `write`, and counts `bytes` as kept. They are held meanwhile, so that of several writes at once those pass that
   * fit. Rejects as `write` does, and with the FailureError of `mayKeep`, before it, when they do not fit.
   */
  keep<T>(account: string, kind: KeptKind, bytes: number, write: () => Promise<T>): Promise<T>;
  /** `bytes` below 0: so many were removed. */
  add(account: string, kind: KeptKind, bytes: number): void;
  usage(account: string): Promise<StorageUsage>;
}

export interface StorageUsage {
  usedBytes: number;
  /** Null: unlimited. */
  allowedBytes: number | null;
  /** By kind; only those that there are any of. */
  kinds: Readonly<Partial<Record<StorageKind, number>>>;
}

/** Older measures are made anew beside the answer; before a refusal those that are this old. */
const measureIntervalMs = 5 * 60_000;
const refusalMeasureMs = 5_000;
/** Measuring takes at most one part in so many of the time. */
const measureShare = 20;
/** Pictures are removed when their links end, an hour after they were made. */
const pictureMs = 3_600_000;
const minuteMs = 60_000;

export function createStorageBook(parts: StorageParts): StorageBook {
  const { clock } = parts;
  let measured = new Map<string, Map<MeasuredKind, number>>();
  let measuredMs = Number.NEGATIVE_INFINITY;
  let measureTookMs = 0;
  let measuring: Promise<void> | null = null;
  /** Bytes by account, by the minute in which they were kept: at most 61 of them. */
  const pictures = new Map<number, Map<string, number>>();

  const holds = createStorageHolds();
  /** Kept while it was measured: the measure may have come too early for them, so they count twice until the next. */
  let keptMeanwhile: KeptBytes[] = [];

  async function measureNow(): Promise<void> {
    const startMs = clock.monotonicMs();
    keptMeanwhile = [];
    try {
      const kept = await parts.measure();
      measured = new Map();
      for (const { account, kind, bytes } of [...kept, ...keptMeanwhile]) addTo(measured, account, kind, bytes);
    } catch {
      // A part that cannot be read now is read next time.
    }
    measuredMs = clock.monotonicMs();
    measureTookMs = measuredMs - startMs;
  }

  function renewed(olderThanMs: number): Promise<void> {
    if (clock.monotonicMs() - measuredMs <= Math.max(olderThanMs, measureShare * measureTookMs))
      return Promise.resolve();
    measuring ??= measureNow().finally(() => {
      measuring = null;
    });
    return measuring;
  }

  function picturesOf(account: string): number {
    const oldest = Math.floor((clock.monotonicMs() - pictureMs) / minuteMs);
    let bytes = 0;
    for (const [minute, kept] of pictures) {
      if (minute < oldest) pictures.delete(minute);
      else bytes += kept.get(account) ?? 0;
    }
    return bytes;
  }

  /** What is known without asking anybody. */
  function measuredOf(account: string) {
    const of = measured.get(account);
    return {
      pages: of?.get('pages') ?? 0,
      crawls: of?.get('crawls') ?? 0,
      pictures: picturesOf(account),
      replies: of?.get('replies') ?? 0,
      responses: of?.get('responses') ?? 0,
      files: of?.get('files') ?? 0,
    };
  }

  async function kindsOf(account: string): Promise<Partial<Record<StorageKind, number>>> {
    const vectors = (await parts.vectors(account)) ?? 0;
    // Some of what is on its way waits on disk, and is one of these uploads.
    const uploads = Math.max(parts.uploads(account), holds.bytes(account));
    const all = { vectors, ...measuredOf(account), uploads };
    return Object.fromEntries(Object.entries(all).filter(([, bytes]) => bytes > 0));
  }

  async function usage(account: string): Promise<StorageUsage> {
    const firstMeasure = measuredMs === Number.NEGATIVE_INFINITY;
    const renewing = renewed(measureIntervalMs);
    if (firstMeasure) await renewing;
    const kinds = await kindsOf(account);
    const usedBytes = Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0);
    return { usedBytes, allowedBytes: parts.allowed(account), kinds };
  }

  async function mayKeep(account: string): Promise<Failure | null> {
    const full = parts.room();
    if (full !== null || parts.allowed(account) === null) return full;
    if (!isOver(await usage(account))) return null;
    // Deletions since the last measurement no longer count.
    await renewed(refusalMeasureMs);
    const now = await usage(account);
    return isOver(now) ? storageFull(now) : null;
  }

  /** A hold against what is known now. Without a limit nobody is asked. */
  async function opened(account: string): Promise<StorageHold> {
    const vectors = parts.allowed(account) === null ? 0 : ((await parts.vectors(account)) ?? 0);
    return holds.open(account, (uploads) => {
      const allowedBytes = parts.allowed(account);
      const kinds = { ...measuredOf(account), vectors, uploads };
      const usedBytes = Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0);
      const isFull = allowedBytes !== null && usedBytes > allowedBytes;
      return parts.room() ?? (isFull ? storageFull({ usedBytes, allowedBytes, kinds }) : null);
    });
  }

  function add(account: string, kind: KeptKind, bytes: number): void {
    if (kind !== 'pictures') {
      if (measuring !== null && bytes > 0) keptMeanwhile.push({ account, kind, bytes });
      return addTo(measured, account, kind, bytes);
    }
    const minute = Math.floor(clock.monotonicMs() / minuteMs);
    const kept = pictures.get(minute) ?? new Map<string, number>();
    pictures.set(minute, kept);
    kept.set(account, (kept.get(account) ?? 0) + bytes);
  }

  return {
    usage,
    mayKeep,
    async hold(account) {
      const full = await mayKeep(account);
      if (full !== null) return full;
      // Deletions of other replicas do not count any more.
      if (parts.allowed(account) !== null) await renewed(refusalMeasureMs);
      return opened(account);
    },
    async expect(account, bytes) {
      const full = await mayKeep(account);
      if (full !== null) return full;
      const hold = await opened(account);
      return hold.expect(bytes) ?? hold;
    },
    async keep(account, kind, bytes, write) {
      const isLimited = parts.allowed(account) !== null;
      if (isLimited) await renewed(measureIntervalMs);
      const hold = await opened(account);
      let full = hold.grow(bytes);
      if (full !== null && isLimited) {
        await renewed(refusalMeasureMs);
        full = hold.grow(bytes);
      }
      if (full !== null) throw new FailureError(full);
      try {
        const written = await write();
        hold.kept(bytes);
        add(account, kind, bytes);
        return written;
      } finally {
        hold.release();
      }
    },
    add,
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

function isOver({ usedBytes, allowedBytes }: StorageUsage): boolean {
  return allowedBytes !== null && usedBytes >= allowedBytes;
}

const waysOut: Readonly<Record<StorageKind, string>> = {
  vectors: 'delete points or collections',
  pages: 'pages are deleted when they are older than storage.retention',
  crawls: 'crawls are deleted when their retention ends',
  pictures: 'pictures are deleted an hour after they were made',
  replies: 'replies of Idempotency-Key are deleted after a day',
  responses: 'delete responses and conversations, or send "store": false',
  files: 'delete files, or wait for the end of their retention',
  uploads: 'uploads are deleted with their requests',
};

function storageFull({ usedBytes, allowedBytes, kinds }: StorageUsage): QuotaExceeded {
  const allowed = allowedBytes ?? 0;
  const largest = Object.entries(kinds)
    .filter(([, bytes]) => bytes > 0)
    .toSorted(([, one], [, other]) => other - one) as [StorageKind, number][];
  const shown = largest.map(([kind, bytes]) => `${kind} ${bytes}`).join(', ');
  const [kind] = largest[0] ?? ['vectors' as const];
  return {
    kind: 'quota-exceeded',
    limit: 'storage',
    window: null,
    used: usedBytes,
    allowed,
    freeAtMs: null,
    message: `Storage limit reached: this account keeps ${usedBytes} of ${allowed} bytes (${shown}). To free some, ${waysOut[kind]}. Nothing of this request was kept.`,
  };
}
