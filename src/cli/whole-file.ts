import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CommandFailed } from './command-failed.ts';

/** Measured with vectors, which hardly shrink: 30 MB/s and the same size as level 6 gives at 16. */
const gzipLevel = 3;

/**
 * Writes a file whole or not at all, for its owner's eyes; it is durable before it takes the place of an older one.
 * What keeps the file from being written is a sentence; what `pieces` throws passes through.
 */
export async function writeWholeFile(
  file: string,
  pieces: AsyncIterable<string>,
  form: 'plain' | 'gzip',
): Promise<void> {
  const place = await placeOf(file);
  const unfinished = `${place}.new`;
  try {
    // What a killed command left may have another mode.
    await rm(unfinished, { force: true });
    const written = createWriteStream(unfinished, { mode: 0o600, flags: 'wx', flush: true });
    await (form === 'gzip' ? pipeline(pieces, createGzip({ level: gzipLevel }), written) : pipeline(pieces, written));
    await rename(unfinished, place);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    const fault = error as NodeJS.ErrnoException | null;
    if (fault?.path === unfinished) throw new CommandFailed(`${file} cannot be written (${fault.code}).`);
    throw error;
  }
}

/**
 * Where the file really stands: a link stays one. What is no file cannot be replaced as a whole: to rename over
 * `/dev/null` or a pipe would take it away from everybody else.
 */
async function placeOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => null);
  if (found === null) return file;
  if (found.isFile()) return realpath(file);
  const what = found.isDirectory() ? 'a directory' : 'not a regular file';
  throw new CommandFailed(`${file} cannot be written: it is ${what}.`);
}
