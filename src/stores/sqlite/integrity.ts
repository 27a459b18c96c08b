import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { culvert } from '../../kernel/command-form.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import type { DataFolder } from './data-folder.ts';
import { isSmallDatabase } from './database.ts';

/** A database whose pages are not what SQLite wrote. */
export interface Damage {
  /** Its absolute path. */
  file: string;
  /** SQLite's words for the first fault. */
  what: string;
}

const lookTimeoutMs = 250;

/** Every database of a data folder that there is, absolute. */
export function databasesIn({ path }: DataFolder): string[] {
  const others = ['crawl.db', 'pages.db', 'responses.db', 'batches.db', 'bodies.db', 'vector-stores.db'];
  const names = ['culvert.db', 'ledger.db', ...others, ...shardNames(path)];
  return names.map((name) => join(path, name)).filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}

export function shardNames(path: string): string[] {
  try {
    const names = readdirSync(join(path, 'vectors')).filter((name) => /^shard-\d+\.db$/.test(name));
    return names.map((name) => join('vectors', name));
  } catch {
    return [];
  }
}

/**
 * Reads all of a database and changes nothing: minutes for many GB. `whole` also checks rows against their indexes.
 * Null when it is sound, and when it cannot be read now, which is not damage.
 */
export function damageOf(file: string, depth: 'quick' | 'whole'): Damage | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: lookTimeoutMs });
    try {
      const found = database.prepare(depth === 'whole' ? 'PRAGMA integrity_check(1)' : 'PRAGMA quick_check(1)').get();
      const what = String(Object.values(found ?? {})[0]);
      return what === 'ok' ? null : { file, what: what.replaceAll(/\s+/g, ' ') };
    } finally {
      database.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
    if (!damageCodes.includes(code & 0xff)) return null;
    return { file, what: (error as Error).message };
  }
}

/** ERROR (a schema that cannot be read), CORRUPT, NOTADB. */
const damageCodes: readonly number[] = [1, 11, 26];

/** Delay after a start, whose first requests come before. */
const beginMs = 2_000;
/** Reading holds the log of a database up; larger ones are left to `culvert doctor`. */
const fileBytesMax = 2 * 1024 ** 3;

export interface IntegrityLook {
  /** Why the ledger cannot be trusted, in words without a path; null while nothing is known. */
  readonly trouble: string | null;
  stop(): Promise<void>;
}

/**
 * Reads through every database of the folder once, soon after a start, large ones in a thread, and logs the damaged
 * ones. Further writes into a damaged ledger are lost with it.
 */
export function lookForDamage({
  folder,
  notify,
}: {
  folder: DataFolder;
  notify(message: string): void;
}): IntegrityLook {
  const thread = createWorkThread(new URL('./file-worker.ts', import.meta.url), 'thread of database checks');
  let stopped = false;

  async function look(): Promise<void> {
    for (const file of databasesIn(folder)) {
      if (stopped) return;
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > fileBytesMax) continue;
      const damage = isSmallDatabase(file)
        ? await nextTurn(damageOf(file, 'quick'))
        : await thread.ask<Damage | null>((id) => ({ message: { id, file, work: 'check' }, transfer: [] }));
      if (damage !== null) report(damage);
    }
    thread.letGo();
  }

  function report({ file, what }: Damage): void {
    const books = file === folder.culvertDb || file === folder.ledgerDb;
    if (books) running.trouble = 'its ledger is damaged on the disk';
    const meanwhile = books ? 'Requests are refused' : 'Calls that need unreadable parts of it are refused';
    notify(
      `${file} is damaged on the disk (${what}). ${meanwhile}. Stop Culvert and restore a backup: ${culvert} restore FILE --yes`,
    );
  }

  const timer = setTimeout(() => void look().catch((error: unknown) => reportUnlessStopped(error)), beginMs);
  timer.unref();
  const reportUnlessStopped = (error: unknown) => {
    if (!stopped) notify(`the databases could not be checked: ${String(error)}`);
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
