import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoredBytes } from '../../books/metering/storage-counts.ts';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/thread-port.ts';
import { storageLooks, storedBytesOf } from '../storage-sizes.ts';

/** Bytes of accounts in the databases of a data folder. Blocks, so it is called in a thread. */
export function storageSizes(path: string): StoredBytes[] {
  return storageLooks.flatMap((look) => {
    const file = join(path, look.file);
    if (!existsSync(file)) return [];
    const database = new DatabaseSync(file, { readOnly: true, timeout: 250 });
    try {
      return storedBytesOf(look, database.prepare(look.sql('')).all());
    } finally {
      database.close();
    }
  });
}

yieldToMainThread();

threadPort().on('message', ({ id, path }: { id: number; path: string }) => {
  try {
    threadPort().postMessage({ id, result: storageSizes(path) });
  } catch (error) {
    threadPort().postMessage({ id, error: String(error) });
  }
});
