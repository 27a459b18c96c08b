import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { culvert } from '../../kernel/command-form.ts';
import { type BackupSize, sizeInWords, writeBackupFile } from '../backup-file.ts';
import { CommandFailed } from '../command-failed.ts';
import type { LocalFlags } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readPlace, type ServerPlace } from '../read-config.ts';

/** `culvert backup`: everything that the stores and the data folder hold, while servers run. */
export async function backup(file: string, flags: LocalFlags, parts: CliParts): Promise<number> {
  const place = readPlace(flags.config);
  if (existsSync(file) && !isGzip(file))
    throw new CommandFailed(`${file} exists and is not a backup, so it was left as it is. Name another file.`);
  await refuseOtherSchema(place, parts);
  const database = place.storage.database === 'sqlite' ? 'sqlite' : 'postgres';
  const head = { culvert: parts.version, format: 2, at: new Date().toISOString(), database } as const;
  const progress = createProgress(flags, 'blocks');
  progress.at('reading the databases');
  let size: BackupSize;
  try {
    // The file is made next to the backup, because the disk of the data folder may have no room for a copy.
    size = await writeBackupFile(file, head, parts.readBackup(place, `${file}.copy`), (items) =>
      progress.count(items, 'rows and pieces of files written'),
    );
  } finally {
    progress.end();
  }
  const bytes = statSync(file).size;
  if (flags.json) printJson({ file, ...size, bytes, database });
  else note(`Wrote ${file}: ${sizeInWords(size)}, ${bytes.toLocaleString('en')} bytes.`);
  if (!flags.json && database === 'postgres') note(leftOut);
  return 0;
}

const leftOut =
  "Responses, files, batches, vector stores, crawls and pages are not in it: PostgreSQL's own backup (pg_dump) has them.";

/**
 * Rows of an earlier version would be brought up to date first, under its server, which could then not be gone back to.
 * A backup of nothing would look like a success to an operator who runs it every night in the wrong folder.
 */
async function refuseOtherSchema({ storage }: ServerPlace, parts: CliParts): Promise<void> {
  const schemas = (await parts.migrations({ storage })).filter(({ later }) => !later);
  if (schemas.every(({ current }) => current === 0)) {
    const { database, data_dir: folder } = storage;
    const place = database === 'sqlite' ? folder : 'The database of storage.database';
    throw new CommandFailed(`${place} holds no data of Culvert. Name your configuration with --config FILE.`);
  }
  const older = schemas.find(({ current, pending }) => current > 0 && pending.length > 0);
  if (older === undefined) return;
  throw new CommandFailed(
    `An earlier Culvert (schema ${older.current}) wrote ${older.database}. Make the backup with that version, or run ${culvert} migrate first.`,
  );
}

/** Yesterday's backup may be replaced; a file that was named by mistake may not. */
function isGzip(file: string): boolean {
  if (!statSync(file).isFile()) return false;
  const start = Buffer.alloc(2);
  const descriptor = openSync(file, 'r');
  try {
    return readSync(descriptor, start) === 2 && start[0] === 0x1f && start[1] === 0x8b;
  } finally {
    closeSync(descriptor);
  }
}
