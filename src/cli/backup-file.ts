import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isObject, parsedJson } from '../kernel/json.ts';
import type { BackupItem, BackupRow } from '../stores/backup-row.ts';
import { CommandFailed, codeOf, unreadable } from './command-failed.ts';
import { writeWholeFile } from './whole-file.ts';

/**
 * A backup is gzip of JSON lines: a head, a `{table, row}` for every row, a `{file, at, base64}` for every piece of a
 * file of the data folder, and `{end, rows, pieces}`, without which it is not whole.
 */
export interface BackupHead {
  /** Version of Culvert that wrote it. */
  culvert: string;
  /** 1: rows alone, as older versions wrote them. */
  format: 1 | 2;
  /** RFC 3339. */
  at: string;
  database: 'sqlite' | 'postgres';
}

const formats: readonly unknown[] = [1, 2];
/** One row is at most a request's explanation. */
const lineCharsMax = 64 * 1024 * 1024;
const writtenAtOnceChars = 64 * 1024;

/** Contents of a backup: rows of databases, and bytes of other files. */
export interface BackupSize {
  rows: number;
  fileBytes: number;
}

export function sizeInWords({ rows, fileBytes }: BackupSize): string {
  return `${rows.toLocaleString('en')} rows and ${fileBytes.toLocaleString('en')} bytes of files`;
}

/** Writes the whole file or none of it, readable by its owner only. Resolves to its contents once it is durable. */
export async function writeBackupFile(
  file: string,
  head: BackupHead,
  items: AsyncIterable<BackupItem>,
  counted: (items: number) => void,
): Promise<BackupSize> {
  const size = { rows: 0, fileBytes: 0 };
  let pieces = 0;
  async function* text(): AsyncGenerator<string> {
    let waiting = `${JSON.stringify(head)}\n`;
    for await (const item of items) {
      waiting += `${lineOf(item)}\n`;
      if ('file' in item) {
        size.fileBytes += item.bytes.length;
        pieces++;
      } else size.rows++;
      counted(size.rows + pieces);
      if (waiting.length < writtenAtOnceChars) continue;
      yield waiting;
      waiting = '';
    }
    yield `${waiting}${JSON.stringify({ end: true, rows: size.rows, pieces })}\n`;
  }
  await writeWholeFile(file, text(), 'gzip');
  return size;
}

function lineOf(item: BackupItem): string {
  if (!('file' in item)) return JSON.stringify({ table: item.table, row: item.row });
  const { file, at, bytes } = item;
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return JSON.stringify({ file, at, base64 });
}

/**
 * Reads the whole file once. Throws a sentence when it is not a backup, comes from a newer version, is cut short or
 * damaged.
 */
export async function verifyBackupFile(
  file: string,
  counted: (items: number) => void,
): Promise<{ head: BackupHead } & BackupSize> {
  const reading = readBackupFile(file);
  const size = { rows: 0, fileBytes: 0 };
  for (let items = 1; ; items++) {
    const { done, value } = await reading.next();
    if (done) return { head: value, ...size };
    if ('file' in value) size.fileBytes += value.bytes.length;
    else size.rows++;
    counted(items);
  }
}

/** The contents; returns the head at the end. Throws as `verifyBackupFile` does, at the end at the latest. */
export async function* readBackupFile(file: string): AsyncGenerator<BackupItem, BackupHead, undefined> {
  let head: BackupHead | null = null;
  let rows = 0;
  let pieces = 0;
  /** Offset of the next piece of a file. */
  let next = { file: '', at: 0 };
  let ended = false;
  for await (const line of linesOf(file)) {
    if (ended) throw damaged(file);
    const value = parsed(line, file);
    if (head === null) head = headIn(value, file);
    else if ('end' in value) {
      if (value.rows !== rows || (value.pieces ?? 0) !== pieces) throw damaged(file);
      ended = true;
    } else if ('file' in value) {
      const { file: name, at, base64 } = value;
      if (typeof name !== 'string' || typeof base64 !== 'string') throw damaged(file);
      if (at !== (name === next.file ? next.at : 0)) throw damaged(file);
      const bytes = Buffer.from(base64, 'base64');
      next = { file: name, at: at + bytes.length };
      pieces++;
      yield { file: name, at, bytes };
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
    throw unreadableBackup(error, file);
  } finally {
    source.destroy();
  }
  if (rest !== '') throw damaged(file);
}

function parsed(line: string, file: string): Record<string, unknown> {
  const value = parsedJson(line);
  if (isObject(value)) return value;
  throw damaged(file);
}

const isHead = (value: object): value is BackupHead => 'format' in value && formats.includes(value.format);

function headIn(value: Record<string, unknown>, file: string): BackupHead {
  if (typeof value.culvert !== 'string') throw noBackup(file);
  if (isHead(value)) return value;
  throw new CommandFailed(`Culvert ${value.culvert} wrote ${file} in a form that this version does not read.`);
}

function unreadableBackup(error: unknown, file: string): unknown {
  const code = codeOf(error);
  if (code === 'Z_DATA_ERROR') return /header/.test(String(error)) ? noBackup(file) : damaged(file);
  if (code.startsWith('Z_')) return damaged(file);
  return /^E[A-Z]/.test(code) ? unreadable(file, error) : error;
}

function noBackup(file: string): CommandFailed {
  return new CommandFailed(`${file} is not a backup of Culvert.`);
}

function damaged(file: string): CommandFailed {
  return new CommandFailed(`${file} is cut short or damaged. Nothing was restored.`);
}
