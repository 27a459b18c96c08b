import { buffer } from 'node:stream/consumers';
import type { BatchStore } from '../../books/metering/batch-store.ts';
import type { RemovableFiles } from '../../kernel/file-store.ts';
import type { JobWorker } from '../../kernel/leased-jobs.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';
import type { FindUpload } from '../families/chat/inline-uploads.ts';
import { contentsInFiles, contentsInRows } from './file-contents.ts';
import { createResumableFiles, type ResumableFiles } from './resumable-files.ts';
import {
  createStoredFiles,
  type StoredFile,
  type StoredFiles,
  type StoredFilesParts,
  UnreadableFile,
} from './stored-files.ts';

/** Files and batches, in tables that are opened when they are first asked for. */
export interface StoredBatches {
  batches(): Promise<{ store: BatchStore; worker: JobWorker }>;
  /** Whether there may be some already: then a start continues them. */
  mayHaveBatches(): boolean;
}

export interface UploadsParts
  extends Pick<StoredFilesParts, 'sealer' | 'clock' | 'leftOut' | 'retentionMs' | 'onStored'> {
  stores: StoredBatches;
  /** Where contents are; null: in rows. */
  bucket: RemovableFiles | null;
}

export interface OpenUploads {
  store: BatchStore;
  worker: JobWorker;
  files: StoredFiles;
  resumable: ResumableFiles;
}

/** Files of `/v1/files`. */
export interface Uploads extends Pick<UploadsParts, 'sealer' | 'clock' | 'leftOut' | 'retentionMs' | 'onStored'> {
  open(): Promise<OpenUploads>;
  bucket(): RemovableFiles | null;
  /** Whether there may be some already. */
  mayHaveStored(): boolean;
  /** For requests that name them. */
  find: FindUpload;
}

export function createUploads({ stores, bucket, ...parts }: UploadsParts): Uploads {
  async function openFiles(): Promise<OpenUploads> {
    const { store, worker } = await stores.batches();
    const contents = bucket === null ? contentsInRows(store) : contentsInFiles(bucket);
    const fileParts = { store, contents, ...parts };
    return { store, worker, files: createStoredFiles(fileParts), resumable: createResumableFiles(fileParts) };
  }

  const once = new OpenedOnce(openFiles);

  return {
    ...parts,
    bucket: () => bucket,
    open: once.open,
    mayHaveStored: stores.mayHaveBatches,
    async find(tenant, id) {
      if (once.unused && !stores.mayHaveBatches()) return null;
      const { files } = await once.open();
      const file = await files.shown(tenant, id);
      if (file === null) return null;
      const { name, bytes, mediaType } = file;
      return { name, bytes, mediaType, content: () => contentOf(files, file), read: () => files.read(file) };
    },
  };
}

/** Null when it was deleted meanwhile, or was sealed with another secret. */
async function contentOf(files: StoredFiles, file: StoredFile): Promise<Buffer | null> {
  try {
    return await buffer(files.read(file));
  } catch (error) {
    if (error instanceof UnreadableFile) return null;
    throw error;
  }
}
