import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lifetime } from '../start-process.ts';

/** A file system of its own of this many MB, in memory; null when none can be mounted (it needs root). */
export function mountSmallDisk(t: Lifetime, sizeMb: number): string | null {
  const disk = mkdtempSync(join(tmpdir(), 'culvert-full-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'tmpfs', disk]).status !== 0) {
    rmSync(disk, { recursive: true });
    return null;
  }
  t.after(() => {
    spawnSync('umount', ['-l', disk]);
    // Hooks run in their order: a store that is still open may make its file again in between.
    rmSync(disk, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return disk;
}

/** Fills it with files; returns how to take them away again. */
export function fillDisk(disk: string): () => void {
  const files: string[] = [];
  for (const bytes of [1_000_000, 4_000]) {
    for (;;) {
      files.push(join(disk, `ballast-${files.length}`));
      try {
        writeFileSync(files.at(-1)!, Buffer.alloc(bytes));
      } catch {
        break;
      }
    }
  }
  return () => {
    for (const file of files) rmSync(file, { force: true });
  };
}
