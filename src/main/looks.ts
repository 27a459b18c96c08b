import type { AdminParts } from '../admin/parts.ts';
import type { Clock } from '../kernel/clock.ts';
import { FailureError } from '../kernel/failure.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import type { createBackupDownload } from './backup-download.ts';
import type { KeptBodies } from './kept-bodies.ts';
import type { Setup } from './setup.ts';
import type { Storage } from './storage.ts';

/** What a running server can tell of itself, and nobody else. */
export function serverLooks(
  { storage, keptBodies, setup }: { storage: Storage; keptBodies: KeptBodies; setup: Setup },
  parts: { folder: DataFolder; clock: Clock; version: string } & Pick<AdminParts, 'snapshot' | 'troubles'>,
): Pick<AdminParts, 'disk' | 'bodies' | 'findings' | 'backup'> {
  const { folder, clock, version, snapshot } = parts;
  let download: ReturnType<typeof createBackupDownload> | null = null;
  return {
    disk: storage.room.known,
    bodies: keptBodies.find,
    async findings() {
      const { runningFindings } = await import('./doctor.ts');
      return runningFindings({ ...parts, setup });
    },
    async backup() {
      const full = storage.room.refusal();
      if (full !== null) throw new FailureError(full);
      const at = new Date(clock.wallMs()).toISOString();
      const loaded = await import('./backup-download.ts');
      download ??= loaded.createBackupDownload(folder);
      return download({ config: snapshot().config, version, at });
    },
  };
}
