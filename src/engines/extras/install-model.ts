import { statfs } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { culvert } from '../../kernel/command-form.ts';
import { isAlive } from '../../kernel/sharing/left-behind.ts';
import { downloadFile } from './download-file.ts';
import {
  addingProgress,
  type ExtrasFolder,
  type InstalledFile,
  markInstalled,
  reportProgress,
} from './extras-folder.ts';
import { AddFailed, type HostedModel } from './model-host.ts';
import type { ModelManifest } from './model-manifest.ts';

export interface InstallParts {
  folder: ExtrasFolder;
  signal: AbortSignal;
  /** Whenever some more has come. */
  onProgress(doneBytes: number, totalBytes: number): void;
  nowMs(): number;
  /** In place of waiting between tries, in tests. */
  rest?(ms: number, signal: AbortSignal): Promise<void>;
}

const reportEveryMs = 1_000;

/** Downloads the missing files of a model and marks it installed. Downloaded parts stay when it fails. */
export async function installModel(manifest: ModelManifest, hosted: HostedModel, parts: InstallParts): Promise<void> {
  const { folder, nowMs } = parts;
  const totalBytes = hosted.files.reduce((sum, { bytes }) => sum + bytes, 0);
  await enoughDisk(folder, totalBytes);
  refuseSecond(folder, manifest.id, nowMs());
  const startedMs = nowMs();
  let reportedMs = Number.NEGATIVE_INFINITY;
  let before = 0;
  const report = (doneBytes: number) => {
    parts.onProgress(doneBytes, totalBytes);
    const wallMs = nowMs();
    if (wallMs - reportedMs < reportEveryMs) return;
    reportedMs = wallMs;
    const bytesPerS = Math.round((doneBytes * 1_000) / Math.max(1, wallMs - startedMs));
    reportProgress(folder, manifest.id, { doneBytes, totalBytes, bytesPerS, wallMs, pid: process.pid });
  };
  try {
    report(0);
    const files: InstalledFile[] = [];
    for (const file of hosted.files) {
      const sha256 = await downloadFile(file, folder.file(manifest.id, file.path), {
        signal: parts.signal,
        onBytes: (bytes) => report(before + bytes),
        rest: parts.rest ?? ((ms, signal) => setTimeout(ms, undefined, { signal })),
      });
      before += file.bytes;
      files.push({ path: file.path, bytes: file.bytes, sha256, checkedAgainst: file.digest?.from ?? 'nobody' });
    }
    markInstalled(folder, { id: manifest.id, repository: manifest.repository, commit: hosted.commit, files });
  } finally {
    reportProgress(folder, manifest.id, null);
  }
}

/** Two that write the same file would spoil it for each other. */
function refuseSecond(folder: ExtrasFolder, id: string, nowMs: number): void {
  const pid = addingProgress(folder, id, nowMs)?.pid;
  if (pid === undefined || pid === process.pid || !isAlive(pid)) return;
  throw new AddFailed(`Process ${pid} is downloading ${id}. ${culvert} add --list says how far it is.`);
}

async function enoughDisk(folder: ExtrasFolder, bytes: number): Promise<void> {
  const disk = await statfs(folder.path).catch(() => null);
  if (disk === null || disk.bavail * disk.bsize > bytes) return;
  throw new AddFailed(
    `${folder.path} has room for ${disk.bavail * disk.bsize} bytes, but the download needs ${bytes}. Free some space.`,
  );
}
