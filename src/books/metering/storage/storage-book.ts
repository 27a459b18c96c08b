import { type Failure, FailureError, type QuotaExceeded } from '../../../kernel/failure.ts';
import type { Elsewhere } from '../../../kernel/sharing/elsewhere.ts';
import { gatherChanges } from '../stored-changes.ts';
import { createStorageCounts, type StorageCountsParts, type StoredChange, type StoredKind } from './storage-counts.ts';
import { createStorageHolds, type StorageHold } from './storage-hold.ts';

/** Kinds of data that an account keeps on this server. */
export type StorageKind = 'vectors' | 'pages' | 'crawls' | 'pictures' | 'replies' | 'responses' | 'files' | 'uploads';

export interface StorageParts extends StorageCountsParts {
  /** Bytes that the account's plan allows; null: unlimited. */
  allowed(account: string): number | null;
  /** The vector store's count of an account; null when nobody counts. */
  vectors(account: string): Promise<number | null>;
  /** Bytes of uploads that wait for their requests to end. */
  uploads(account: string): number;
  room: {
    /** Why nothing large may be kept on the disk at all (503); null when it may. */
    refusal(): Failure | null;
    /** So many bytes more are on the disk now. */
    taken(bytes: number): void;
  };
  /** Other processes of this server; null: there are none. */
  others: StorageElsewhere | null;
}

/** Other processes that store for the same accounts. */
export interface StorageElsewhere {
  elsewhere: Elsewhere;
  /** `take` gets what others store from now on; returns how they learn of this process. */
  shareStored(take: (changes: readonly StoredChange[]) => void): (changes: readonly StoredChange[]) => void;
}

/** Bytes that accounts store. Exact but for bytes that are still arriving, and for recent deletions. */
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
   * Runs `write`, and counts `bytes` as kept, or as many as `storedBytes` says of its result. They are held meanwhile, so
   * that of several writes at once those pass that fit. Rejects as `write` does, and with the FailureError of `mayKeep`,
   * before it, when they do not fit.
   */
  keep<T>(
    account: string,
    kind: StoredKind,
    bytes: number,
    write: () => Promise<T>,
    storedBytes?: (written: T) => number,
  ): Promise<T>;
  /** `bytes` below 0: so many were removed. */
  add(account: string, kind: StoredKind, bytes: number): void;
  usage(account: string): Promise<StorageUsage>;
}

export interface StorageUsage {
  usedBytes: number;
  /** Null: unlimited. */
  allowedBytes: number | null;
  /** By kind; only those that there are any of. */
  kinds: Readonly<Partial<Record<StorageKind, number>>>;
}

/** Maximum age of a measure. Older ones are measured again while the answer goes out, or before a refusal. */
const measureIntervalMs = 5 * 60_000;
const refusalMeasureMs = 5_000;

export function createStorageBook(parts: StorageParts): StorageBook {
  const counts = createStorageCounts(parts);
  const { others, clock } = parts;
  const holds = createStorageHolds(parts.allowed, others?.elsewhere ?? null);
  const share = others === null ? null : gatherChanges(clock, others.shareStored(counts.addElsewhere));
  const add: StorageBook['add'] = (account, kind, bytes) => {
    if (bytes > 0) parts.room.taken(bytes);
    counts.add(account, kind, bytes);
    share?.(account, kind, bytes);
  };

  const { known, usage, mayKeep } = createStorageLook(parts, counts, holds);

  /** A hold against what is known now. Without a limit nobody is asked. */
  async function opened(account: string): Promise<StorageHold> {
    const vectors = parts.allowed(account) === null ? 0 : ((await parts.vectors(account)) ?? 0);
    return holds.open(account, (uploads) => {
      const allowedBytes = parts.allowed(account);
      const kinds = { ...counts.of(account), vectors, uploads };
      const usedBytes = Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0);
      const isFull = allowedBytes !== null && usedBytes > allowedBytes;
      return parts.room.refusal() ?? (isFull ? storageFull({ usedBytes, allowedBytes, kinds }) : null);
    });
  }

  return {
    usage,
    mayKeep,
    async hold(account) {
      const full = await mayKeep(account);
      if (full !== null) return full;
      // Deletions of other replicas do not count any more.
      if (parts.allowed(account) !== null) await counts.renewed(refusalMeasureMs);
      return opened(account);
    },
    async expect(account, bytes) {
      const full = await mayKeep(account);
      if (full !== null) return full;
      const hold = await opened(account);
      return hold.expect(bytes) ?? hold;
    },
    async keep(account, kind, bytes, write, storedBytes = () => bytes) {
      const isLimited = parts.allowed(account) !== null;
      if (isLimited) await known();
      const hold = await opened(account);
      let full = hold.grow(bytes);
      if (full !== null && isLimited) {
        await counts.renewed(refusalMeasureMs);
        full = hold.grow(bytes);
      }
      if (full !== null) throw new FailureError(full);
      try {
        const written = await write();
        hold.stored(bytes);
        add(account, kind, storedBytes(written));
        return written;
      } finally {
        hold.release();
      }
    },
    add,
  };
}

/** Use of an account, by measures that are recent enough. */
function createStorageLook(
  parts: StorageParts,
  counts: ReturnType<typeof createStorageCounts>,
  holds: ReturnType<typeof createStorageHolds>,
) {
  async function kindsOf(account: string): Promise<Partial<Record<StorageKind, number>>> {
    const vectors = (await parts.vectors(account)) ?? 0;
    // Some of what is on its way waits on disk, and is one of these uploads.
    const uploads = Math.max(parts.uploads(account), holds.bytes(account));
    const all = { vectors, ...counts.of(account), uploads };
    return Object.fromEntries(Object.entries(all).filter(([, bytes]) => bytes > 0));
  }

  /** Only the first measure is waited for. */
  async function known(): Promise<void> {
    const isFirst = !counts.isMeasured();
    const renewing = counts.renewed(measureIntervalMs);
    if (isFirst) await renewing;
  }

  async function usage(account: string): Promise<StorageUsage> {
    await known();
    const kinds = await kindsOf(account);
    const usedBytes = Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0);
    return { usedBytes, allowedBytes: parts.allowed(account), kinds };
  }

  async function mayKeep(account: string): Promise<Failure | null> {
    const full = parts.room.refusal();
    if (full !== null || parts.allowed(account) === null) return full;
    if (!isOver(await usage(account))) return null;
    // Deletions since the last measurement no longer count.
    await counts.renewed(refusalMeasureMs);
    const now = await usage(account);
    return isOver(now) ? storageFull(now) : null;
  }

  return { known, usage, mayKeep };
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
