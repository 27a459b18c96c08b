import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Whether there is a process with this id on this machine, whosever it is. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It is there, and another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Removes entries of a folder named `prefix`, process id and more, except for those of other processes that live. */
export function removeLeftBehind(folder: string, prefix: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    const isInUse = pid !== process.pid && pid > 0 && isAlive(pid);
    if (!isInUse) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
