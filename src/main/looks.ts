import type { AdminParts } from '../admin/parts.ts';
import type { Clock } from '../kernel/clock.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import type { KeptBodies } from './kept-bodies.ts';
import type { Setup } from './setup.ts';
import type { Storage } from './storage.ts';

/** What a running server can tell of itself, and nobody else. */
export function serverLooks(
  { storage, keptBodies, setup }: { storage: Storage; keptBodies: KeptBodies; setup: Setup },
  parts: { folder: DataFolder; clock: Clock } & Pick<AdminParts, 'snapshot' | 'troubles'>,
): Pick<AdminParts, 'disk' | 'bodies' | 'findings'> {
  return {
    disk: storage.room.known,
    bodies: keptBodies.find,
    async findings() {
      const { runningFindings } = await import('./doctor.ts');
      return runningFindings({ ...parts, setup });
    },
  };
}
