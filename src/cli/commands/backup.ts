import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { culvert } from '../../kernel/command-form.ts';
import { type BackupSize, sizeInWords, writeBackupFile } from '../backup-file.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readConfig } from '../read-config.ts';

export interface BackupFlags {
  config?: string;
  json?: boolean;
  quiet?: boolean;
}

/** `culvert backup`: everything that the stores and the data folder hold, while servers run. */
export async function backup(file: string, flags: BackupFlags, parts: CliParts): Promise<number> {
  const config = readConfig(flags.config);
  if (existsSync(file) && !isGzip(file))
    throw new CommandFailed(`${file} exists and is not a backup, so it stays as it is. Name another file.`);
  await refuseOlderSchema(config, parts);
  const database = config.storage.database === 'sqlite' ? 'sqlite' : 'postgres';
  const head = { culvert: parts.version, format: 2, at: new Date().toISOString(), database } as const;
  const progress = createProgress(flags, 'blocks');
  progress.at('reading the databases');
  let size: BackupSize;
  try {
    // The file is made beside the backup, because the disk of the data folder may have no room for a copy.
    size = await writeBackupFile(file, head, parts.readBackup(config, `${file}.copy`), (items) =>
      progress.count(items, 'rows and pieces of files written'),
    );
  } finally {
    progress.end();
  }
  const bytes = statSync(file).size;
  if (flags.json) printJson({ file, ...size, bytes, database });
  else note(`Wrote ${file}: ${sizeInWords(size)}, ${bytes.toLocaleString('en')} bytes.`);
  return 0;
}

/** Its rows would be brought up to date first, under a server of the earlier version, which could then not be gone back to. */
async function refuseOlderSchema(config: Parameters<CliParts['migrations']>[0], parts: CliParts): Promise<void> {
  const older = (await parts.migrations(config)).find(({ current, pending }) => current > 0 && pending.length > 0);
  if (older === undefined) return;
  throw new CommandFailed(
    `An earlier Culvert (schema ${older.current}) wrote ${older.database}. Make the backup with that version, or run ${culvert} migrate first.`,
  );
}

/** Yesterday's backup may be replaced; a file that somebody named by mistake may not. */
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
