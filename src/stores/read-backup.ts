import type { BackupItem } from './backup-row.ts';
import { readBackup as readSqliteBackup } from './sqlite/backup.ts';
import { dataFolderAt } from './sqlite/data-folder.ts';
import { readFolderFiles } from './sqlite/folder-files.ts';

interface StoragePlaces {
  /** `sqlite`, or the URL of a PostgreSQL. */
  database: string;
  data_dir: string;
}

/** All that a restore needs, while servers run (`CliParts.readBackup`). */
export async function* readBackup(
  { database: place, data_dir }: StoragePlaces,
  scratch: string,
): AsyncGenerator<BackupItem> {
  const folder = dataFolderAt(data_dir);
  if (place === 'sqlite') {
    yield* readSqliteBackup(folder);
    yield* readFolderFiles(folder, ['secret', 'files', 'crawls', 'pages', 'responses', 'batches', 'vectors'], scratch);
    return;
  }
  const { connect } = await import('./postgres/database.ts');
  const { readPostgresBackup } = await import('./postgres/backup.ts');
  const database = await connect(place);
  try {
    yield* readPostgresBackup(database);
  } finally {
    await database.close();
  }
  yield* readFolderFiles(folder, ['secret', 'files', 'vectors'], scratch);
}
