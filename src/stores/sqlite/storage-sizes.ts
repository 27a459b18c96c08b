import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoredBytes } from '../../books/metering/storage/storage-counts.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import { storageLooks, storedBytesOf } from '../storage-sizes.ts';
import { isSmallDatabase } from './database.ts';

/** How much accounts keep in the databases of a data folder. Large databases are read in a thread. */
export function createStorageSizes(path: string) {
  const thread = createWorkThread(new URL('./file-worker.ts', import.meta.url), 'thread of storage sizes');
  return {
    async read(nowMs: number): Promise<StoredBytes[]> {
      if (storageLooks.every(({ file }) => isSmallDatabase(join(path, file)))) return storageSizes(path, nowMs);
      const sizes = await thread.ask<StoredBytes[]>((id) => ({
        message: { id, file: path, work: 'sizes', nowMs },
        transfer: [],
      }));
      thread.letGo();
      return sizes;
    },
    close: (): Promise<void> => thread.close(),
  };
}

/** Bytes of accounts in the databases of a data folder. Blocks as long as SQLite reads them. */
export function storageSizes(path: string, nowMs: number): StoredBytes[] {
  return storageLooks.flatMap((look) => {
    const file = join(path, look.file);
    if (!existsSync(file)) return [];
    const database = new DatabaseSync(file, { readOnly: true, timeout: 250 });
    try {
      return storedBytesOf(look, database.prepare(look.sql('', nowMs)).all());
    } finally {
      database.close();
    }
  });
}
