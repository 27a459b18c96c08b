import type { Config } from '../config/schema.ts';
import type { FileStore } from '../kernel/file-store.ts';
import { createLocalFiles } from '../stores/files/local-folder.ts';
import { createS3Files } from '../stores/files/s3-files.ts';
import { type BucketParts, bucketOpener } from './buckets.ts';

/** Where pictures by URL are kept, as `storage.files` says; `folder` is the local one. */
export function openFiles(
  parts: BucketParts & {
    config: Config;
    folder: string;
    onTrouble(message: string): void;
    opened(close: () => Promise<void> | void): void;
  },
): FileStore {
  const { files, s3 } = parts.config.storage;
  if (files === 'local') return createLocalFiles(parts.folder);
  const open = bucketOpener(files, s3, 'storage.files', parts);
  return createS3Files(async () => {
    const bucket = await open();
    parts.opened(bucket.close);
    return bucket;
  }, parts.onTrouble);
}
