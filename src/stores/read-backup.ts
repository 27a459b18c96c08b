import type { BackupItem } from './backup-row.ts';
import { readBackup as readSqliteBackup } from './sqlite/backup.ts';
import { dataFolderAt } from './sqlite/data-folder.ts';
import { readFolderFiles } from './sqlite/folder-files.ts';
import { openSnapshots } from './sqlite/snapshots.ts';

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
    const snapshots = openSnapshots(folder);
    try {
      yield* readSqliteBackup(folder, snapshots);
      yield* snapshots.secrets;
      yield* readFolderFiles(
        folder,
        ['crawls', 'responses', 'batches', 'files', 'pages', 'vectors'],
        scratch,
        snapshots,
      );
    } finally {
      snapshots.close();
    }
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
