import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../kernel/clock.ts';
import { culvert } from '../../kernel/command-form.ts';
import { every } from '../../kernel/every.ts';
import { objectIn, parsedJson } from '../../kernel/json.ts';
import { createTroubleReport } from '../trouble-report.ts';
import { type DataFolder, readIfThere } from './data-folder.ts';
import { naming, sqliteBusy, sqliteCode } from './database.ts';
import { shardNames } from './integrity.ts';

/** The holder of a folder. */
export interface LockOwner {
  pid: number;
  /** Address of the server, such as `http://127.0.0.1:4141`; null: a command, which listens nowhere. */
  url: string | null;
}

export type LockResult =
  | {
      kind: 'locked';
      /** Where the server really listens, once it does. */
      announce(url: string): void;
      release(): void;
    }
  /** `message` is the sentence to refuse the start with; the owner is null if it has not yet written who it is. */
  | { kind: 'held'; owner: LockOwner | null; message: string };

/**
 * Takes the folder for this process. A folder has one server: two would charge each other's running requests as
 * crashed. A lock of the operating system (SQLite's, on `lock.db`) excludes others: it ends with its process, however
 * that ends, and holds between containers, whose process ids mean nothing to each other. The file `lock` names the
 * holder.
 */
export function lockDataFolder(folder: DataFolder, url: string | null): LockResult {
  const holder = hold(folder);
  if (holder === null) {
    const owner = readOwner(folder);
    const place = owner === null ? '' : ` (process ${owner.pid}${owner.url === null ? '' : `, ${owner.url}`})`;
    return {
      kind: 'held',
      owner,
      message: `Another Culvert${place} is using ${folder.path}. Stop it, or give this server another data folder (storage.data_dir, or CULVERT_DATA_DIR).`,
    };
  }
  const file = folder.lockFile;
  let announced = url;
  const announce = (at: string | null) => {
    announced = at;
    const mine: LockOwner = { pid: process.pid, url: at };
    writeFileSync(file, `${JSON.stringify(mine)}\n`, { mode: 0o600 });
  };
  announce(url);
  held.add(holder);
  return {
    kind: 'locked',
    announce,
    release() {
      if (!held.delete(holder)) return;
      // Another server may have taken the folder's place, where ours was removed.
      const owner = readOwner(folder);
      try {
        if (owner?.pid === process.pid && owner.url === announced) rmSync(file, { force: true });
      } catch {
        // The disk is read-only: the file names a server that is gone, as after a kill.
      }
      holder.close();
    },
  };
}

/** A connection without a reference is collected, and its lock with it. */
const held = new Set<DatabaseSync>();

/** The server or command that holds this folder, for the CLI to choose between HTTP and the files; null when none does. */
export function lockOwner(folder: DataFolder): LockOwner | null {
  const owner = readOwner(folder);
  if (owner === null) return null;
  const holder = hold(folder);
  if (holder === null) return owner;
  // It could be had, so the process that wrote the file is gone.
  holder.close();
  return null;
}

/** The connection that holds the lock until it is closed, or null when another has it. */
function hold(folder: DataFolder): DatabaseSync | null {
  const file = join(folder.path, 'lock.db');
  // SQLite would make it as readable as the umask lets it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const database = naming(file, () => new DatabaseSync(file, { timeout: 0 }));
  try {
    naming(file, () => database.exec('BEGIN EXCLUSIVE'));
    return database;
  } catch (error) {
    database.close();
    if (sqliteCode(error) === sqliteBusy) return null;
    throw error;
  }
}

function readOwner(folder: DataFolder): LockOwner | null {
  // Read while it is being written, it is as good as no owner.
  const { pid, url } = objectIn(parsedJson(readIfThere(folder.lockFile) ?? ''));
  return typeof pid === 'number' && (typeof url === 'string' || url === null) ? { pid, url } : null;
}

/** Everything acknowledged between the loss of the folder and this look is in files that only this process can see. */
const lookIntervalMs = 1_000;

/** Names kept within the folder, except for the vectors' shards. Logs of databases that stay open belong to them. */
const watchedNames = (
  'culvert.db culvert.db-wal ledger.db ledger.db-wal lock.db crawl.db pages.db responses.db ' +
  'batches.db bodies.db vector-stores.db vectors'
).split(' ');

export interface DataFolderWatch {
  /** Why nothing may be kept now, in words without a path; null when everything is where it was. */
  readonly trouble: string | null;
  stop(): void;
}

/**
 * Looks every second whether the folder and its files are still those that this process has open. A removed file goes
 * on taking writes that nobody will ever read. New files are watched from then on. A file that was moved away and back
 * is the same file: then the trouble is over. `report` is the operator's log.
 */
export function watchDataFolder(options: {
  folder: DataFolder;
  report(message: string): void;
  clock: Pick<Clock, 'monotonicMs'>;
}): DataFolderWatch {
  const { path } = options.folder;
  const known = new Map<string, string>();
  let lost: string | null = null;
  const report = createTroubleReport({
    trouble: () => lost,
    words: {
      begins: (file) =>
        `data folder: ${file} was removed or replaced while Culvert runs. Requests are refused. The earlier file holds what was recorded: move it back, and requests are served again. If it is gone for good, restore a backup (${culvert} restore) and restart Culvert.`,
      over: `data folder: ${path} is the earlier file again; requests are served`,
    },
    report: options.report,
    clock: options.clock,
  });

  function look(): void {
    try {
      lost = lostFile();
    } catch {
      // Neither there nor missing, such as out of descriptors: the next look says more.
    }
    watch.trouble = lost === null ? null : 'its data folder was removed or replaced while it was running';
    report.look();
  }

  /** Some twenty looks, each a few µs at once and ten times that over a thread. SQLite waits for the same disk. */
  function lostFile(): string | null {
    for (const file of ['', ...watchedNames, ...shardNames(path)].map((name) => join(path, name))) {
      const found = identityOf(file);
      const before = known.get(file);
      if (before === undefined) {
        if (found !== null && lost === null) known.set(file, found);
      } else if (found !== before) return file;
    }
    return null;
  }

  const watch = { trouble: null as string | null, stop: every(lookIntervalMs, look) };
  look();
  return watch;
}

/** Tells one file from another of the same name; null when there is none. */
function identityOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
