// A folder in memory for what tests write: their gateways open some thousand databases, and a disk syncs each of them.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
/** Tests need a fifth of it; containers have 64 MB unless they are given more. */
const freeBytesMin = 4 * 1024 ** 3;

/**
 * A new folder in memory, for TMPDIR; null where the caller named another, or the system has no such place that is large
 * enough and may hold programs. Whoever gets it removes it.
 */
export function memoryFolder() {
  if (process.env.TMPDIR !== undefined || process.platform !== 'linux' || freeBytes() < freeBytesMin) return null;
  let folder = null;
  try {
    folder = mkdtempSync(join(memory, 'culvert-test-'));
    // PostgreSQL runs as a user of its own, below it.
    chmodSync(folder, 0o755);
    if (mayHoldPrograms(folder)) return folder;
  } catch {
    // It may not be written.
  }
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  return null;
}

function freeBytes() {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

function mayHoldPrograms(folder) {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(program).status === 0;
}
