import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type DiskReading, diskReading, diskStanding } from '../../stores/disk-room.ts';
import type { DataFolder } from '../../stores/sqlite/data-folder.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

/** Whether this user can write the folder, or its nearest existing parent. */
export function folderFinding(folder: DataFolder): Finding {
  const { path } = folder;
  const existing = nearestExisting(path);
  try {
    if (!statSync(existing).isDirectory())
      return problem('data folder', `${existing} is a file`, 'Move it away, or set storage.data_dir.');
    accessSync(existing, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return problem(
      'data folder',
      `${existing} cannot be written by this user`,
      'Change its owner or mode, or set storage.data_dir.',
    );
  }
  if (existing !== path) return ok('data folder', `${path} is created at the first start`);
  if ((statSync(path).mode & 0o007) !== 0)
    return warning('data folder', `everybody on this machine can read ${path}`, `chmod 700 ${path}`);
  return ok('data folder', path);
}

/** Whether the disk of the folder has room. `reserve`: as configured, in bytes; null for the default. */
export function diskFinding(folder: DataFolder, reserve: number | null): Finding {
  return freeDiskFinding(diskReading(nearestExisting(folder.path)), reserve);
}

export function freeDiskFinding(reading: DiskReading, reserve: number | null): Finding {
  const { standing, reserveBytes } = diskStanding(reading, reserve);
  const message = `${gigabytes(reading.freeBytes)} of ${gigabytes(reading.sizeBytes)} are free for the data folder`;
  if (standing === 'roomy') return ok('disk', message);
  const fix = `Free some space: below ${gigabytes(reserveBytes)} (storage.reserve) nothing large is stored, and a full disk refuses every request.`;
  return standing === 'full'
    ? problem('disk', `${message}, so vectors, pages, pictures and uploads are refused`, fix)
    : warning('disk', `${message}: the disk is filling up`, fix);
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(bytes < 1e11 ? 1 : 0)} GB`;
}

/** When anything in the folder was last written, wall-clock ms; null when there is nothing, or it cannot be listed. */
export function newestFileMs(folder: DataFolder): number | null {
  const times = filesIn(folder.path).map((name) => statSync(join(folder.path, name), { throwIfNoEntry: false }));
  return times.reduce<number | null>((newest, file) => Math.max(newest ?? 0, file?.mtimeMs ?? 0) || null, null);
}

/** A folder that cannot be listed has a separate finding. */
function filesIn(path: string): string[] {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return readdirSync(path);
  } catch {
    return [];
  }
}

/**
 * A file that holds a secret: its owner's alone to read, and at least `bytesMin` long. `made` says when a missing one
 * comes into being.
 */
export function secretFileFinding(check: string, file: string, given: { bytesMin: number; made: string }): Finding {
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts === undefined) return ok(check, given.made);
  if ((facts.mode & 0o077) !== 0)
    return problem(
      check,
      `other users can read ${file}`,
      `Run chmod 600 ${file}. Others may have read it, so make a new one`,
    );
  return facts.size < given.bytesMin
    ? problem(
        check,
        `${file} is cut short`,
        'Put the earlier file back, or delete this one: the next start creates one.',
      )
    : ok(check, file);
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}
