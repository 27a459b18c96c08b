import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { culvert } from '../../kernel/command-form.ts';
import { createTroubleReport } from '../trouble-report.ts';
import type { DataFolder } from './data-folder.ts';
import { shardNames } from './integrity.ts';

/** Everything acknowledged between the loss of the folder and this look is in files that only this process can see. */
const lookIntervalMs = 1_000;

/** Names kept within the folder, except for the vectors' shards. Logs of databases that stay open belong to them. */
const watchedNames = [
  'culvert.db',
  'culvert.db-wal',
  'ledger.db',
  'ledger.db-wal',
  'lock.db',
  'crawl.db',
  'pages.db',
  'responses.db',
  'batches.db',
  'vectors',
];

export interface DataFolderWatch {
  /** Why nothing may be kept now, in words without a path; null when everything is where it was. */
  readonly trouble: string | null;
  stop(): void;
}

/**
 * Looks every second whether the folder and its files are still those that this process has open. A removed file goes
 * on taking writes that nobody will ever read. New files are watched from then on. A file that was moved away and back
 * is the same file: then the trouble is over. `tell` is the operator's log.
 */
export function watchDataFolder(options: {
  folder: DataFolder;
  tell(message: string): void;
  clock: Pick<Clock, 'monotonicMs'>;
}): DataFolderWatch {
  const { path } = options.folder;
  const known = new Map<string, string>();
  let lost: string | null = null;
  let looking = false;
  const report = createTroubleReport({
    trouble: () => lost,
    words: {
      begins: (file) =>
        `data folder: ${file} was removed or replaced while Culvert runs. Requests are refused. The earlier file holds what was recorded: move it back, and requests are served again. If it is gone for good, restore a backup (${culvert} restore) and restart Culvert.`,
      over: `data folder: ${path} is the earlier file again; requests are served`,
    },
    tell: options.tell,
    clock: options.clock,
  });

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      lost = await lostFile();
    } catch {
      // Neither there nor missing, such as out of descriptors: the next look says more.
    } finally {
      looking = false;
    }
    watch.trouble = lost === null ? null : 'its data folder was removed or replaced while it was running';
    report.look();
  }

  async function lostFile(): Promise<string | null> {
    for (const file of ['', ...watchedNames, ...shardNames(path)].map((name) => join(path, name))) {
      const found = await identityOf(file);
      const before = known.get(file);
      if (before === undefined) {
        if (found !== null && lost === null) known.set(file, found);
      } else if (found !== before) return file;
    }
    return null;
  }

  const timer = setInterval(() => void look(), lookIntervalMs);
  timer.unref();
  const watch = { trouble: null as string | null, stop: () => clearInterval(timer) };
  void look();
  return watch;
}

/** Tells one file from another of the same name; null when there is none. */
async function identityOf(file: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
