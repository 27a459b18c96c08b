import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
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
    rmSync(disk, { recursive: true, force: true });
  });
  return disk;
}
