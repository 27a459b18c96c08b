import type { JobStore, Lease } from '../../kernel/leased-jobs.ts';
import type { TenantRow } from './batch-store.ts';

/**
 * The port of vector stores (`/v1/vector_stores`), of the files in them and of the batches in which files came. The
 * passages themselves are points of a collection. What callers wrote is sealed before it comes here. One process at a
 * time reads a file, under a lease.
 */
export interface VectorStoreRows extends JobStore<StoreFileRow> {
  /** `full`: the tenant has `storesMax`. */
  createStore(row: StoreRow, storesMax: number): Promise<'created' | 'full'>;
  findStore(tenant: string, id: string): Promise<StoreRow | null>;
  listStores(tenant: string, page: RowPage): Promise<StoreRow[]>;
  /** Replaces its sealed facts and its end. */
  changeStore(row: Pick<StoreRow, 'tenant' | 'id' | 'facts' | 'expiresMs'>): Promise<void>;
  /** It was used now. */
  touchStore(row: Pick<StoreRow, 'tenant' | 'id' | 'activeMs' | 'expiresMs'>): Promise<void>;
  /** With its files and batches. False: it is not there. */
  removeStore(tenant: string, id: string): Promise<boolean>;
  /** Stores that expired, whose passages are still there. */
  expiredStores(nowMs: number, limit: number): Promise<StoreRow[]>;
  /** The files of an expired store are gone, and so are its passages. */
  emptyStore(id: string): Promise<void>;

  /** Adds files, in place of those that were there. `full`: the store or its tenant has too many. */
  attach(files: readonly NewStoreFile[], batch: StoreBatchRow | null, bounds: AttachBounds): Promise<'attached' | Full>;
  findFile(store: string, file: string): Promise<StoreFileRow | null>;
  listFiles(of: FilesOf, page: RowPage): Promise<StoreFileRow[]>;
  /** False: its facts are no longer those that were `seen`, or it is gone. Nothing was written. */
  changeFile(row: Pick<StoreFileRow, 'id' | 'facts'>, seen: Uint8Array): Promise<boolean>;
  /** Its place stays known to `findPlace` until `forgetPlaces`. */
  removeFile(row: Pick<StoreFileRow, 'id' | 'store' | 'file'>, nowMs: number): Promise<void>;
  /** Id in the store of a file that is there or was removed of late, behind or before which a list goes on. */
  findPlace(store: string, file: string): Promise<string | null>;
  /** Forgets the places of files that were removed before then. */
  forgetPlaces(beforeMs: number): Promise<void>;
  /** False when the lease is lost or its facts are no longer those that were `seen`: nothing was written. */
  finishFile(
    lease: Lease,
    end: Pick<StoreFileRow, 'bytes' | 'facts'> & { status: 'completed' | 'failed'; seen: Uint8Array },
  ): Promise<boolean>;
  /** Numbers of files by status, for each of these stores or batches. */
  counts(kind: 'store' | 'batch', ids: readonly string[]): Promise<ReadonlyMap<string, StoreCounts>>;

  findBatch(store: string, id: string): Promise<StoreBatchRow | null>;
  /** Files of it that are not read yet are not read any more. */
  cancelBatch(id: string, nowMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface StoreRow extends TenantRow {
  account: string;
  /** Owner of the quota that pays for its files. */
  keyId: string;
  activeMs: number;
  /** Null: never. */
  expiresMs: number | null;
}

export type StoreFileStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** `id`: of this file in this store, and of its passages; those of later files are greater. */
export interface NewStoreFile extends TenantRow {
  store: string;
  keyId: string;
  /** Id at `/v1/files`. */
  file: string;
  batch: string | null;
}

export interface StoreFileRow extends NewStoreFile {
  status: StoreFileStatus;
  /** Bytes of its passages, also of those of an earlier attachment while this one is not read. */
  bytes: number;
}

export interface StoreBatchRow {
  id: string;
  store: string;
  createdMs: number;
  cancelledMs: number | null;
}

export interface AttachBounds {
  /** Files of one store. */
  filesMax: number;
  /** Files of one tenant that are not read yet. */
  waitingMax: number;
}

export type Full = 'store-full' | 'too-many-waiting';

export interface FilesOf {
  store: string;
  batch: string | null;
  status: StoreFileStatus | null;
}

export interface RowPage {
  /** Rows behind this id, or before it; null: from the beginning. */
  from: { id: string; side: 'after' | 'before' } | null;
  order: 'asc' | 'desc';
  limit: number;
}

export interface StoreCounts extends Record<StoreFileStatus, number> {
  bytes: number;
}
