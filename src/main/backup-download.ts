import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FailureError } from '../kernel/failure.ts';
import { removeLeftBehind } from '../kernel/sharing/left-behind.ts';
import { type DataFolder, whyUnusable } from '../stores/sqlite/data-folder.ts';
import type { BackupOrder } from './backup-worker.ts';

const prefix = 'backup-download-';

/**
 * A backup as `culvert backup` writes it, made in a thread and on the disk first: a slow reader would keep the ledger from
 * compacting its log. One at a time; the file is gone once it is read or left.
 */
export function createBackupDownload(folder: DataFolder) {
  let running = false;

  return async (order: Omit<BackupOrder, 'file'>): Promise<AsyncIterable<Uint8Array>> => {
    if (running) {
      const message = 'Another backup is being made or read. Only one runs at a time; retry when it has ended.';
      throw new FailureError({ kind: 'conflict', message });
    }
    removeLeftBehind(folder.path, prefix);
    running = true;
    const file = join(folder.path, `${prefix}${process.pid}-${randomUUID()}.gz`);
    const end = () => {
      rmSync(file, { force: true });
      running = false;
    };
    try {
      const workerData: BackupOrder = { ...order, file };
      const thread = new Worker(new URL('./backup-worker.ts', import.meta.url), { workerData });
      const [code] = (await once(thread, 'exit')) as [number];
      if (code !== 0) throw new Error(`the thread of the backup ended with ${code}`);
    } catch (error) {
      end();
      // Of the thread's `CommandFailed` only its members come here.
      const message = error instanceof Error && 'exitCode' in error ? error.message : whyUnusable(error);
      throw message === null ? error : new FailureError({ kind: 'overloaded', message });
    }
    return (async function* () {
      try {
        yield* createReadStream(file) as AsyncIterable<Uint8Array>;
      } finally {
        end();
      }
    })();
  };
}
