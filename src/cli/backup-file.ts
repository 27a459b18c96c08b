import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { BackupRow } from '../stores/backup-row.ts';
import { CommandFailed } from './command-failed.ts';
import { writeWholeFile } from './whole-file.ts';

/**
 * A backup is gzip of JSON lines: a head, a `{table, row}` for every row, and `{end, rows}`, without which it is not
 * whole.
 */
export interface BackupHead {
  /** Version of Culvert that wrote it. */
  culvert: string;
  format: 1;
  /** RFC 3339. */
  at: string;
  database: 'sqlite' | 'postgres';
}

const format = 1;
/** One row is at most a request's explanation. */
const lineCharsMax = 64 * 1024 * 1024;
const writtenAtOnceChars = 64 * 1024;

/** Writes the whole file or none of it, for its owner's eyes; resolves to the number of rows, durable. */
export async function writeBackupFile(
  file: string,
  head: BackupHead,
  rows: AsyncIterable<BackupRow>,
  counted: (rows: number) => void,
): Promise<number> {
  let count = 0;
  async function* text(): AsyncGenerator<string> {
    let waiting = `${JSON.stringify(head)}\n`;
    for await (const { table, row } of rows) {
      waiting += `${JSON.stringify({ table, row })}\n`;
      counted(++count);
      if (waiting.length < writtenAtOnceChars) continue;
      yield waiting;
      waiting = '';
    }
    yield `${waiting}${JSON.stringify({ end: true, rows: count })}\n`;
  }
  await writeWholeFile(file, text(), 'gzip');
  return count;
}

/** Reads the whole file once; throws a sentence when it is no backup, from a newer version, cut short or damaged. */
export async function verifyBackupFile(file: string): Promise<{ head: BackupHead; rows: number }> {
  const reading = readBackupFile(file);
  let rows = 0;
  for (;;) {
    const step = await reading.next();
    if (step.done) return { head: step.value, rows };
    rows++;
  }
}

/** Its rows; returns its head at the end. Throws as `verifyBackupFile` does, so at the end at the latest. */
export async function* readBackupFile(file: string): AsyncGenerator<BackupRow, BackupHead, undefined> {
  let head: BackupHead | null = null;
  let rows = 0;
  let ended = false;
  for await (const line of linesOf(file)) {
    if (ended) throw damaged(file);
    const value = parsed(line, file);
    if (head === null) head = headIn(value, file);
    else if ('end' in value) {
      if (value.rows !== rows) throw damaged(file);
      ended = true;
    } else {
      const { table, row } = value;
      if (typeof table !== 'string' || typeof row !== 'object' || row === null) throw damaged(file);
      rows++;
      yield { table, row: row as BackupRow['row'] };
    }
  }
  if (head === null || !ended) throw damaged(file);
  return head;
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const source = createReadStream(file);
  const unpacked: Readable = source.pipe(createGunzip()).setEncoding('utf8');
  source.once('error', (error) => unpacked.destroy(error));
  let rest = '';
  try {
    for await (const chunk of unpacked) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > lineCharsMax) throw damaged(file);
      yield* lines;
    }
  } catch (error) {
    throw unreadable(error, file);
  } finally {
    source.destroy();
  }
  if (rest !== '') throw damaged(file);
}

function parsed(line: string, file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw damaged(file);
}

function headIn(value: Record<string, unknown>, file: string): BackupHead {
  if (typeof value.culvert !== 'string') throw noBackup(file);
  if (value.format === format) return value as unknown as BackupHead;
  throw new CommandFailed(
    `${file} was written by Culvert ${value.culvert}, in a form that this version does not read.`,
  );
}

function unreadable(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return new CommandFailed(`There is no file ${file}.`);
  if (code === 'Z_DATA_ERROR') return /header/.test(String(error)) ? noBackup(file) : damaged(file);
  if (code.startsWith('Z_')) return damaged(file);
  return code.startsWith('E') ? new CommandFailed(`${file} cannot be read (${code}).`) : error;
}

function noBackup(file: string): CommandFailed {
  return new CommandFailed(`${file} is no backup of Culvert.`);
}

function damaged(file: string): CommandFailed {
  return new CommandFailed(`${file} is cut short or damaged; nothing was restored.`);
}
