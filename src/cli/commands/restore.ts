import { urlOf } from '../../http/listening.ts';
import type { BackupRow } from '../../stores/backup-row.ts';
import { openDataFolder } from '../../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../../stores/sqlite/data-folder-lock.ts';
import { readBackupFile, verifyBackupFile } from '../backup-file.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readConfig } from '../read-config.ts';
import { databasesIn, putDatabases } from '../replace-databases.ts';

export interface RestoreFlags {
  config?: string;
  yes?: boolean;
  json?: boolean;
}

type RestoreParts = Pick<CliParts, 'writeBackup' | 'storeFacts'>;

/**
 * `culvert restore`: into an empty database, or with `--yes` in place of SQLite's, which are kept under another name.
 * Whatever goes wrong, what was there before is there after.
 */
export async function restore(file: string, flags: RestoreFlags, parts: RestoreParts): Promise<number> {
  const config = readConfig(flags.config);
  const { head, rows } = await verifyBackupFile(file);
  const folder = openDataFolder(config.storage.data_dir);
  // Held to the end: no server starts on half of it.
  const lock = lockDataFolder(folder, urlOf(config.server.host, config.server.port));
  if (lock.kind === 'held') throw new CommandFailed(lock.message);
  const progress = createProgress(`of ${rows.toLocaleString('en')} rows`);
  const given = () => countedRows(file, progress.count);
  let kept: readonly string[] = [];
  try {
    if (config.storage.database === 'sqlite') {
      if (databasesIn(folder).length > 0 && !flags.yes) {
        throw new CommandFailed(
          `${folder.path} holds databases already. culvert restore ${file} --yes moves them aside, as *.before-restore-<time>.`,
        );
      }
      kept = await putDatabases(folder, new Date(), (side) =>
        parts.writeBackup({ ...config, storage: { ...config.storage, data_dir: side } }, given()),
      );
    } else {
      await refuseUnlessEmpty(config, parts);
      await parts.writeBackup(config, given());
    }
  } finally {
    progress.end();
    lock.release();
  }
  if (flags.json) printJson({ file, rows, from: head, kept });
  else {
    note(`Restored ${rows.toLocaleString('en')} rows of ${head.at} (Culvert ${head.culvert}, ${head.database}).`);
    if (kept.length > 0) note(`What was there before: ${kept.join(', ')}`);
  }
  return 0;
}

async function* countedRows(file: string, counted: (rows: number) => void): AsyncGenerator<BackupRow> {
  let count = 0;
  for await (const row of readBackupFile(file)) {
    yield row;
    counted(++count);
  }
}

async function refuseUnlessEmpty(config: Parameters<CliParts['storeFacts']>[0], parts: RestoreParts): Promise<void> {
  const { database } = await parts.storeFacts(config);
  if (database.trouble !== null) throw new CommandFailed(`The database cannot be used: ${database.trouble}`);
  if (database.empty === true) return;
  throw new CommandFailed(
    'The PostgreSQL database holds rows already, and a restore writes into an empty one only. Make one (createdb NAME), name it in storage.database, and restore again.',
  );
}
