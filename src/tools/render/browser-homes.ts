import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Folders that browsers write to: profiles, downloads, shared memory. They lie where the system keeps temporary files,
 * because shared memory does not belong on the data folder's disk, and Chromium's socket needs a short path.
 */
export type BrowserHomes = ReturnType<typeof createBrowserHomes>;

/**
 * Removes at once what a server of the same data folder left behind: that folder is one process's alone, so its browsers
 * are gone too.
 */
export function createBrowserHomes(dataDir: string) {
  const ownerHash = createHash('sha256')
    .update(`${hostname()}\n${resolve(dataDir)}`)
    .digest('hex')
    .slice(0, 6);
  const prefix = `cv-chromium-${ownerHash}-`;
  // Its processes end a moment after it, and write until then.
  const remove = (home: string) =>
    rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch(() => undefined);

  async function clear(): Promise<void> {
    const names = await readdir(tmpdir()).catch(() => []);
    const left = names.filter((name) => name.startsWith(prefix));
    await Promise.all(left.map((name) => remove(join(tmpdir(), name))));
  }

  const cleared = clear();
  return {
    /** An empty one. */
    async fresh(): Promise<string> {
      await cleared;
      return mkdtemp(join(tmpdir(), prefix));
    },
    /** Never rejects: a folder that cannot be removed now is removed at the next start. */
    remove,
  };
}
