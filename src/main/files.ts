import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { createHostedFiles, type HostedFiles } from '../inference/families/images/hosted-files.ts';
import type { Clock } from '../kernel/clock.ts';
import type { RemovableFiles } from '../kernel/file-store.ts';
import { createLocalFiles } from '../stores/files/local-folder.ts';
import { createS3Files } from '../stores/files/s3-files.ts';
import type { Books } from './books.ts';
import { type BucketParts, bucketOpener } from './buckets.ts';

/** Pictures by URL, kept where `storage.files` says. */
export function openFiles(
  parts: BucketParts & {
    config: Config;
    books: Pick<Books, 'folder' | 'secrets' | 'stores'>;
    clock: Clock;
    onTrouble(message: string): void;
    opened(close: () => Promise<void> | void): void;
  },
): HostedFiles {
  const { books, clock } = parts;
  const store = openBucketFolder(parts, '') ?? createLocalFiles(join(books.folder.path, 'files'));
  const sizes = books.stores.pictures;
  return createHostedFiles({ store, sizes, signer: books.secrets.signer('signed links'), clock });
}

/** The file store in `folder` of the bucket that `storage.files` names; null where it names none. */
export function openBucketFolder(
  parts: Omit<Parameters<typeof openFiles>[0], 'books' | 'clock'>,
  folder: string,
): RemovableFiles | null {
  const { files } = parts.config.storage;
  return files === 'local' ? null : inBucket(`${files.replace(/\/$/, '')}${folder}`, parts);
}

function inBucket(url: string, parts: Omit<Parameters<typeof openFiles>[0], 'books' | 'clock'>): RemovableFiles {
  const open = bucketOpener(url, parts.config.storage.s3, 'storage.files', parts);
  return createS3Files(async () => {
    const bucket = await open();
    parts.opened(bucket.close);
    return bucket;
  }, parts.onTrouble);
}
