import { culvert, pasted } from '../../kernel/command-form.ts';
import type { BackupRow } from '../../stores/backup-row.ts';
import { readLaterDatabases } from '../../stores/sqlite/backup.ts';
import { openDataFolder, presentSecrets } from '../../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../../stores/sqlite/data-folder-lock.ts';
import { partOf, writeFolderFiles } from '../../stores/sqlite/folder-files.ts';
import { readBackupFile, sizeInWords, verifyBackupFile } from '../backup-file.ts';
import { CommandFailed } from '../command-failed.ts';
import type { LocalFlags } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readPlace, type ServerPlace } from '../read-config.ts';
import { databaseNames, dataIn, localNames, pageNames, replaceData } from '../replace-data.ts';

export interface RestoreFlags extends LocalFlags {
  yes?: boolean;
}

type RestoreParts = Pick<CliParts, 'writeBackup' | 'storeFacts'>;

/**
 * `culvert restore`: into an empty data folder or database, or with `--yes` over the folder's contents, which are kept
 * under another name. Whatever fails, the earlier contents are still there afterwards.
 */
export async function restore(file: string, flags: RestoreFlags, parts: RestoreParts): Promise<number> {
  const config = readPlace(flags.config);
  const progress = createProgress(flags, 'blocks');
  const { head, ...size } = await verifyBackupFile(file, (items) =>
    progress.count(items, 'rows and pieces of files read'),
  );
  const folder = openDataFolder(config.storage.data_dir);
  // Held to the end: no server starts on half of it.
  const lock = lockDataFolder(folder, null);
  if (lock.kind === 'held') throw new CommandFailed(lock.message);
  const isEmbedded = config.storage.database === 'sqlite';
  // PostgreSQL has such databases as tables; what a backup of rows alone does not hold, it does not replace either.
  const names = [
    ...(isEmbedded ? databaseNames : []),
    ...(isEmbedded && head.format === 2 ? pageNames : []),
    ...(head.format === 2 ? localNames : []),
  ];
  let replacedFiles: readonly string[] = [];
  let restoredSecrets: readonly string[] = [];
  try {
    if (dataIn(folder, names).length > 0 && !flags.yes) {
      throw new CommandFailed(
        `${folder.path} holds databases already. ${culvert} restore ${pasted(file)} --yes moves them aside, as *.before-restore-<time>.`,
      );
    }
    if (!isEmbedded) await refuseUnlessEmpty(config, parts);
    replacedFiles = await replaceData(folder, names, new Date(), async (side) => {
      const target = isEmbedded ? { ...config, storage: { ...config.storage, data_dir: side } } : config;
      await parts.writeBackup(
        target,
        rowsOf(file, side, isEmbedded, (rows) =>
          progress.count(rows, `of ${size.rows.toLocaleString('en')} rows written`),
        ),
      );
      restoredSecrets = presentSecrets({ path: side }) ?? [];
    });
  } finally {
    progress.end();
    lock.release();
  }
  if (flags.json) printJson({ file, ...size, from: head, kept: replacedFiles });
  else {
    note(`Restored ${sizeInWords(size)} of ${head.at} (Culvert ${head.culvert}, ${head.database}).`);
    if (replacedFiles.length > 0) note(`The earlier files are kept: ${replacedFiles.join(', ')}`);
    const { secret, earlier_secrets: earlier } = config.storage;
    const isKnown = (restored: string) => restored === secret || earlier.includes(restored);
    if (secret !== undefined && !restoredSecrets.every(isKnown)) {
      note(
        `storage.secret is not what sealed this backup. Add what ${folder.path}/secret and secret.earlier hold to storage.earlier_secrets.`,
      );
    }
  }
  return 0;
}

/** Its rows. Its files are written below `side` on the way; PostgreSQL gets the rows of those that are tables there. */
async function* rowsOf(
  file: string,
  side: string,
  isEmbedded: boolean,
  counted: (rows: number) => void,
): AsyncGenerator<BackupRow> {
  const files = writeFolderFiles(side);
  let count = 0;
  try {
    for await (const item of readBackupFile(file)) {
      if ('table' in item) {
        yield item;
        counted(++count);
        continue;
      }
      // PostgreSQL keeps pages in another form. They can be read again.
      if (isEmbedded || partOf(item.file) !== 'pages') await files.write(item);
    }
  } finally {
    await files.end();
  }
  if (!isEmbedded) yield* readLaterDatabases(side);
}

async function refuseUnlessEmpty(config: ServerPlace, parts: RestoreParts): Promise<void> {
  const { database } = await parts.storeFacts(config);
  if (database.trouble !== null) throw new CommandFailed(`The database cannot be used: ${database.trouble}`);
  if (database.empty === true) return;
  throw new CommandFailed(
    'The PostgreSQL database holds rows already, and a restore needs an empty one. Create one (createdb NAME), name it in storage.database, and restore again.',
  );
}
