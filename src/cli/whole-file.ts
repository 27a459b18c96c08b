import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CommandFailed, codeOf, unreadable, unwritable } from './command-failed.ts';

/** Measured with vectors, which hardly shrink: 30 MB/s and the same size as level 6 gives at 16. */
const gzipLevel = 3;

/** Text of a file; `-` is standard input. An error is a sentence. */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

/**
 * Writes a file whole or not at all, readable by its owner only. It is durable before it replaces an older one. An
 * error of the file is a sentence; an error of `pieces` passes through.
 */
export async function writeWholeFile(
  file: string,
  pieces: AsyncIterable<string>,
  form: 'plain' | 'gzip',
): Promise<void> {
  const place = await placeOf(file);
  const unfinished = `${place}.new`;
  try {
    // A file that a killed command left may have another mode.
    await rm(unfinished, { force: true });
    const written = createWriteStream(unfinished, { mode: 0o600, flags: 'wx', flush: true });
    await (form === 'gzip' ? pipeline(pieces, createGzip({ level: gzipLevel }), written) : pipeline(pieces, written));
    await rename(unfinished, place);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    const fault = error as NodeJS.ErrnoException | null;
    if (fault?.path === unfinished) throw unwritable(file, fault);
    throw error;
  }
}

/**
 * The real path of the file: a link stays a link. Something other than a file cannot be replaced as a whole, because a
 * rename over `/dev/null` or a pipe would remove it for everybody else.
 */
async function placeOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => null);
  if (found === null) return file;
  if (found.isFile()) return realpath(file);
  const what = found.isDirectory() ? 'a directory' : 'not a regular file';
  throw new CommandFailed(`${file} cannot be written: it is ${what}.`);
}

/** Writes a file that only its owner reads, and none that exists: that ends the command with `otherwise`. */
export function writeNewFile(file: string, text: string, otherwise: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unwritable(file, error);
    throw new CommandFailed(`${file} already exists and was left as it is. ${otherwise}`);
  }
}
