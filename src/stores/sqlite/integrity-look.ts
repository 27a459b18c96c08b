import { statSync } from 'node:fs';
import { culvert } from '../../kernel/command-form.ts';
import { createWorkThread } from '../../kernel/work-thread.ts';
import type { DataFolder } from './data-folder.ts';
import { type Damage, databasesIn } from './integrity.ts';

/** A start has its first requests before. */
const beginMs = 2_000;
/** Reading holds the log of a database up; larger ones are left to `culvert doctor`. */
const fileBytesMax = 2 * 1024 ** 3;

export interface IntegrityLook {
  /** Why the ledger cannot be trusted, in words without a path; null while nothing is known. */
  readonly trouble: string | null;
  stop(): Promise<void>;
}

/**
 * Reads through every database of the folder once, soon after a start and in a thread of its own, and logs the damaged
 * ones. Further writes into a damaged ledger are lost with it.
 */
export function lookForDamage({ folder, tell }: { folder: DataFolder; tell(message: string): void }): IntegrityLook {
  const thread = createWorkThread(new URL('./integrity-worker.ts', import.meta.url), 'thread of database checks');
  let stopped = false;

  async function look(): Promise<void> {
    for (const file of databasesIn(folder)) {
      if (stopped) return;
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > fileBytesMax) continue;
      const damage = await thread.ask<Damage | null>((id) => ({ message: { id, file }, transfer: [] }));
      if (damage !== null) report(damage);
    }
    thread.letGo();
  }

  function report({ file, what }: Damage): void {
    const books = file === folder.culvertDb || file === folder.ledgerDb;
    if (books) running.trouble = 'its ledger is damaged on the disk';
    const meanwhile = books ? 'Requests are refused' : 'Calls that need unreadable parts of it are refused';
    tell(
      `${file} is damaged on the disk (${what}). ${meanwhile}. Stop Culvert and restore a backup: ${culvert} restore FILE --yes`,
    );
  }

  const timer = setTimeout(() => void look().catch((error: unknown) => tellUnlessStopped(error)), beginMs);
  timer.unref();
  const tellUnlessStopped = (error: unknown) => {
    if (!stopped) tell(`the databases could not be checked: ${String(error)}`);
  };

  const running = {
    trouble: null as string | null,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await thread.close();
    },
  };
  return running;
}
