import type { Config } from '../config/schema.ts';
import type { BackupItem, BackupRow } from '../stores/backup-row.ts';
import { readBackup as readSqliteBackup, writeBackup as writeSqliteBackup } from '../stores/sqlite/backup.ts';
import { dataFolderAt, openDataFolder } from '../stores/sqlite/data-folder.ts';
import { readFolderFiles } from '../stores/sqlite/folder-files.ts';
import { connectPostgres, isEmbedded, migratePostgres, overPostgres } from './cli-database.ts';

/** `CliParts` says what both promise; a thread of the server reads too. */
export async function* readBackup(config: Config, scratch: string): AsyncGenerator<BackupItem> {
  const folder = dataFolderAt(config.storage.data_dir);
  if (isEmbedded(config)) {
    yield* readSqliteBackup(folder);
    yield* readFolderFiles(folder, ['secret', 'files', 'crawls', 'pages', 'responses', 'batches', 'vectors'], scratch);
    return;
  }
  const { readPostgresBackup } = await import('../stores/postgres/backup.ts');
  const database = await connectPostgres(config);
  try {
    yield* readPostgresBackup(database);
  } finally {
    await database.close();
  }
  yield* readFolderFiles(folder, ['secret', 'files', 'vectors'], scratch);
}

export async function writeBackup(config: Config, rows: AsyncIterable<BackupRow>): Promise<void> {
  if (isEmbedded(config)) return writeSqliteBackup(openDataFolder(config.storage.data_dir), rows);
  const { writePostgresBackup } = await import('../stores/postgres/backup.ts');
  await overPostgres(config, async (database) => {
    await migratePostgres(database);
    await writePostgresBackup(database, rows);
  });
}
