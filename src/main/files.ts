import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { createHostedFiles, type HostedFiles } from '../inference/images/hosted-files.ts';
import type { Clock } from '../kernel/clock.ts';
import type { FileStore } from '../kernel/file-store.ts';
import { createLocalFiles } from '../stores/files/local-folder.ts';
import { createS3Files } from '../stores/files/s3-files.ts';
import type { Books } from './books.ts';
import { type BucketParts, bucketOpener } from './buckets.ts';

/** Pictures by URL, kept where `storage.files` says. */
export function openFiles(
  parts: BucketParts & {
    config: Config;
    books: Pick<Books, 'folder' | 'secrets'>;
    clock: Clock;
    onTrouble(message: string): void;
    opened(close: () => Promise<void> | void): void;
  },
): HostedFiles {
  const { books, clock } = parts;
  return createHostedFiles({ store: storeOf(parts), signer: books.secrets.signer('signed links'), clock });
}

function storeOf(parts: Parameters<typeof openFiles>[0]): FileStore {
  const { files, s3 } = parts.config.storage;
  if (files === 'local') return createLocalFiles(join(parts.books.folder.path, 'files'));
  const open = bucketOpener(files, s3, 'storage.files', parts);
  return createS3Files(async () => {
    const bucket = await open();
    parts.opened(bucket.close);
    return bucket;
  }, parts.onTrouble);
}
