import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { writeBackupFile } from '../backup-file.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, printJson } from '../print.ts';
import { createProgress } from '../progress.ts';
import { readConfig } from '../read-config.ts';

export interface BackupFlags {
  config?: string;
  json?: boolean;
}

/** `culvert backup`: accounts, keys, plans, audit trail and ledger as of one instant, while servers run. */
export async function backup(file: string, flags: BackupFlags, parts: CliParts): Promise<number> {
  const config = readConfig(flags.config);
  if (existsSync(file) && !isGzip(file))
    throw new CommandFailed(`${file} exists and is no backup; it is left as it is. Name another file.`);
  const database = config.storage.database === 'sqlite' ? 'sqlite' : 'postgres';
  const head = { culvert: parts.version, format: 1, at: new Date().toISOString(), database } as const;
  const progress = createProgress('rows');
  let rows: number;
  try {
    rows = await writeBackupFile(file, head, parts.readBackup(config), progress.count);
  } finally {
    progress.end();
  }
  const bytes = statSync(file).size;
  if (flags.json) printJson({ file, rows, bytes, database });
  else note(`Wrote ${file}: ${rows.toLocaleString('en')} rows, ${bytes.toLocaleString('en')} bytes.`);
  return 0;
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
