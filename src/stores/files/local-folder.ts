import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileStore, isFileName, refuseWithoutRoom } from '../../kernel/file-store.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';

/** Bytes of all files. Above it the oldest make room: their links end before their time. */
const folderBytesMax = 4 * 1024 ** 3;
/** The first sweep after this removes files that a crash left half written. */
const unfinishedMs = 3_600_000;
const unfinished = '.part';

interface StoredFile {
  bytes: number;
  atMs: number;
}

/** Files in a folder, which is made with the first one; only its owner reads it. `atMs` is kept as their time. */
export function createLocalFiles(folder: string, bytesMax = folderBytesMax): FileStore {
  /** Ordered by the time of their put. */
  const known = new OpenedOnce(look);

  async function look(): Promise<Map<string, StoredFile>> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found: [string, StoredFile][] = [];
    for (const name of await readdir(folder)) {
      const facts = isFileName(name) ? await stat(join(folder, name)).catch(() => null) : null;
      if (facts !== null) found.push([name, { bytes: facts.size, atMs: facts.mtimeMs }]);
    }
    return new Map(found.sort(([, one], [, other]) => one.atMs - other.atMs));
  }

  async function makeRoom(files: Map<string, StoredFile>): Promise<void> {
    let sum = 0;
    for (const one of files.values()) sum += one.bytes;
    for (const [name, one] of files) {
      if (sum <= bytesMax) return;
      sum -= one.bytes;
      files.delete(name);
      await rm(join(folder, name), { force: true });
    }
  }

  return {
    async put(name, bytes, atMs) {
      if (!isFileName(name)) throw new Error('not a name for a file');
      const files = await known.open().catch((error) => refuseWithoutRoom(error, noRoom));
      files.set(name, { bytes: bytes.length, atMs });
      const part = join(folder, `${randomBytes(8).toString('hex')}${unfinished}`);
      try {
        await makeRoom(files);
        await writeFile(part, bytes, { mode: 0o600, flag: 'wx' });
        await utimes(part, atMs / 1_000, atMs / 1_000);
        await rename(part, join(folder, name));
      } catch (error) {
        files.delete(name);
        await rm(part, { force: true }).catch(() => undefined);
        refuseWithoutRoom(error, noRoom);
      }
    },
    async open(name) {
      if (!isFileName(name)) return null;
      try {
        const file = await open(join(folder, name), 'r');
        try {
          const { size } = await file.stat();
          return { bytes: size, content: file.createReadStream() };
        } catch (error) {
          await file.close();
          throw error;
        }
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
    },
    async sweep(beforeMs) {
      // Nothing was ever put here: no folder is made for that.
      const names = await readdir(folder).catch(() => []);
      let removed = 0;
      const files = names.length === 0 ? null : await known.open();
      for (const name of names) {
        const path = join(folder, name);
        if (isFileName(name)) {
          const one = files?.get(name);
          if (one === undefined || one.atMs >= beforeMs) continue;
          files?.delete(name);
          await rm(path, { force: true });
          removed++;
        } else if (name.endsWith(unfinished)) {
          const facts = await stat(path).catch(() => null);
          if (facts !== null && facts.mtimeMs < beforeMs - unfinishedMs) await rm(path, { force: true });
        }
      }
      return removed;
    },
    // Others report the disk.
    trouble: () => null,
  };
}

const noRoom = "The disk of this server takes no files right now. Ask for 'response_format' b64_json, or retry later.";
