import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { openCulvertDatabase } from './culvert-schema.ts';
import type { DataFolder } from './data-folder.ts';
import { naming } from './database.ts';
import { openLedgerDatabase } from './ledger-schema.ts';

/** The databases that tell of the same work, and the secrets that open their rows, all as of one instant. */
export type Snapshots = ReturnType<typeof openSnapshots>;

const names = ['crawl.db', 'responses.db', 'batches.db', 'vector-stores.db'];
const secretNames = ['secret', 'secret.earlier'];
const busyTimeoutMs = 2_000;

/**
 * Begins to read all of them. Accounts and ledger are brought up to date first, as a start of this version would. Throws
 * what `whyUnusable` puts into words.
 */
export function openSnapshots(folder: DataFolder) {
  const open = new Map<string, DatabaseSync>();
  const closeAll = () => {
    for (const database of open.values()) database.close();
    open.clear();
  };
  // A mere look makes no file.
  if (existsSync(folder.culvertDb)) openCulvertDatabase(folder.culvertDb, 'fsync').close();
  const ledger = existsSync(folder.ledgerDb) ? openLedgerDatabase(folder.ledgerDb) : null;
  try {
    const paths = [folder.culvertDb, folder.ledgerDb, ...names.map((name) => join(folder.path, name))];
    for (const path of paths.filter((path) => existsSync(path))) {
      open.set(
        path,
        naming(path, () => new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs })),
      );
    }
    // Work is noted before its charge, and its result after it. Nothing is charged while these begin, so no result is
    // without its charge, and no charge without a note of what it is for.
    ledger?.exec('BEGIN IMMEDIATE');
    for (const [path, database] of open) {
      naming(path, () => database.exec('BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1'));
    }
    const secrets = secretNames
      .filter((file) => existsSync(join(folder.path, file)))
      .map((file) => ({ file, at: 0, bytes: readFileSync(join(folder.path, file)) }));
    return {
      secrets,
      /** A connection that reads the file as it was; null where there was none. It stays open until `done`. */
      of: (path: string): DatabaseSync | null => open.get(path) ?? null,
      /** Copies the file as it was, while others write on; a damaged one may give a damaged copy. */
      async copy(path: string, to: string): Promise<void> {
        const database = open.get(path);
        if (database === undefined) return;
        await backup(database, to).catch((error: unknown) =>
          naming(path, () => {
            throw error;
          }),
        );
      },
      /** Until then the log of the file grows. */
      done(path: string): void {
        open.get(path)?.close();
        open.delete(path);
      },
      close: closeAll,
    };
  } catch (error) {
    closeAll();
    throw error;
  } finally {
    ledger?.close();
  }
}
