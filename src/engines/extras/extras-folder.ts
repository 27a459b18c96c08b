import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../kernel/make-folder.ts';

/** Folders of added engines, below the data folder. */
export interface ExtrasFolder {
  path: string;
  /** Folder of the packages that run models. */
  runtime: string;
  model(id: string): string;
  file(id: string, path: string): string;
}

export function extrasFolderAt(dataDir: string): ExtrasFolder {
  const path = join(dataDir, 'extras');
  const model = (id: string) => join(path, 'models', id);
  return { path, runtime: join(path, 'runtime'), model, file: (id, file) => join(model(id), file) };
}

/** A whole model; the received checksums, for later checks. */
export interface InstalledModel {
  id: string;
  repository: string;
  /** Null where the host has no commits. */
  commit: string | null;
  files: readonly InstalledFile[];
}

export interface InstalledFile {
  path: string;
  bytes: number;
  sha256: string;
  /** Whose checksum its content was compared with; `nobody`: only its length could be checked. */
  checkedAgainst: 'culvert' | 'host' | 'nobody';
}

/** Null while it is not whole. Written last, so the files that it names are there. */
export function installedModel(folder: ExtrasFolder, id: string): InstalledModel | null {
  return readJson<InstalledModel>(folder.file(id, 'installed.json'));
}

/** Contents of an `installed.json`, in any place; null when it is not one. */
export function readPin(file: string): InstalledModel | null {
  const pin = readJson<Partial<InstalledModel>>(file);
  if (typeof pin?.id !== 'string' || !Array.isArray(pin.files)) return null;
  const isWhole = pin.files.every(({ path, sha256 }) => typeof path === 'string' && /^[0-9a-f]{64}$/.test(sha256));
  return isWhole && (pin.commit === null || /^[0-9a-f]{40}$/.test(pin.commit ?? '')) ? (pin as InstalledModel) : null;
}

export function markInstalled(folder: ExtrasFolder, installed: InstalledModel): void {
  writeWhole(folder.file(installed.id, 'installed.json'), installed);
}

/** How far `culvert add` is with a model, for the server that runs meanwhile. */
export interface AddingProgress {
  doneBytes: number;
  totalBytes: number;
  bytesPerS: number;
  wallMs: number;
  /** Process that downloads it. */
  pid: number;
}

/** Written every second while it goes on; older, and the process that added it has died. */
const progressAgeMaxMs = 60_000;

/** Null when nobody adds it. */
export function addingProgress(folder: ExtrasFolder, id: string, nowMs: number): AddingProgress | null {
  const progress = readJson<AddingProgress>(progressFile(folder, id));
  return progress === null || nowMs - progress.wallMs > progressAgeMaxMs ? null : progress;
}

export function reportProgress(folder: ExtrasFolder, id: string, progress: AddingProgress | null): void {
  if (progress === null) rmSync(progressFile(folder, id), { force: true });
  else writeWhole(progressFile(folder, id), progress);
}

function progressFile(folder: ExtrasFolder, id: string): string {
  return join(folder.path, `${id}.adding.json`);
}

function writeWhole(file: string, value: unknown): void {
  makeFolder(dirname(file));
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Null where there is none, or none that can be read: as good as none. */
function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return null;
  }
}
