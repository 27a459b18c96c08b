import { parentPort, workerData } from 'node:worker_threads';
import { type BackupHead, writeBackupFile } from '../cli/backup-file.ts';
import type { Config } from '../config/schema.ts';
import { readBackup } from '../stores/read-backup.ts';

/** Input of the thread: the same as that of `culvert backup`. */
export interface BackupOrder {
  config: Config;
  version: string;
  /** The server's own clock. */
  at: string;
  file: string;
}

/** Writes one backup and ends. An error ends it with that error. */
if (parentPort !== null) {
  const { config, version, at, file } = workerData as BackupOrder;
  const database = config.storage.database === 'sqlite' ? 'sqlite' : 'postgres';
  const head: BackupHead = { culvert: version, format: 2, at, database };
  await writeBackupFile(file, head, readBackup(config.storage, `${file}.copy`), () => {});
}
