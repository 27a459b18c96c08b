import { rmSync, statSync } from 'node:fs';
import type { CacheBounds, CacheEntry, CacheScopeStats, CacheSelection } from '../../books/metering/cache-store.ts';
import {
  type Database,
  openDatabase,
  sqliteCode,
  sqliteCorrupt,
  sqliteNotADatabase,
  undo,
} from '../sqlite/database.ts';

/** Bytes of a row and its indexes, without the body. */
const rowBytes = 512;
/** Rows removed in one step: nobody waits for them, but the log of the file must not grow with them. */
const removedAtOnceMax = 500;
/** Expired rows that a batch removes. */
const expiredAtOnceMax = 200;
/** Scopes whose sums are in memory; the sum of another one is read from its index. */
const scopesMax = 10_000;
/** Oldest rows that are read at a time where a scope has too much. */
const oldestAtOnceMax = 16;

/** The text of the statement that finds an entry. */
export const findEntry = `SELECT at_ms, expires_ms, key_id, model, tag, sealed FROM entry
  WHERE scope = ? AND digest = ? AND expires_ms > ?`;

export interface EntryPlace {
  scope: string;
  digest: string;
}

export interface WrittenEntry extends EntryPlace {
  entry: Omit<CacheEntry, 'body'> & { body: Uint8Array };
}

interface Row extends EntryPlace {
  id: number;
  bytes: number;
}

/**
 * The one writer of a `cache.db`, which blocks: its thread calls it. Opens or creates the file. A file that is damaged,
 * or that has gone, is made anew and empty: its content is a copy. `onRemade` gets why.
 */
export function openCacheFile(file: string, bounds: CacheBounds, onRemade: (why: string) => void) {
  // Another thread does not begin with the same number.
  let generation = Date.now();
  let open: ReturnType<typeof openEntries> | null = null;
  let inode = 0n;

  function opened(): ReturnType<typeof openEntries> {
    if (open !== null && inodeOf(file) !== inode) {
      close();
      onRemade('the file was removed');
    }
    if (open === null) {
      open = openEntries(file, bounds);
      inode = inodeOf(file);
      generation += 1;
    }
    return open;
  }

  function close(): void {
    open?.database.close();
    open = null;
  }

  function remake(why: string): void {
    close();
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
    onRemade(why);
  }

  /** Once more over a new file where this one is damaged. */
  function done<T>(work: (entries: ReturnType<typeof openEntries>) => T): T {
    try {
      return work(opened());
    } catch (error) {
      if (!isDamage(error)) throw error;
      remake((error as Error).message);
      return work(opened());
    }
  }

  return {
    /** A number of the file: the connections of others to another one are of no use. */
    generation(): number {
      done(() => undefined);
      return generation;
    },
    /** Gives the places of those that had to make room. */
    put: (entries: readonly WrittenEntry[], nowMs: number): EntryPlace[] => done((file) => file.put(entries, nowMs)),
    /** Writes it if the entry there is still the one with `atMs` of `over` (null: none). Returns whether it was. */
    swap: (entry: WrittenEntry, over: number | null, nowMs: number): boolean =>
      done((file) => file.swap(entry, over, nowMs)),
    clear: (which: CacheSelection): number => done((file) => file.clear(which)),
    stats: (nowMs: number): CacheScopeStats[] => done((file) => file.stats(nowMs)),
    /** Makes the file anew where a reader met damage in the present one. */
    renew(damaged: number): void {
      if (open !== null && damaged === generation) remake('a row could not be read');
      opened();
    },
    close,
  };
}

/** The number of the file on its disk; 0n: there is none. */
export function inodeOf(file: string): bigint {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n;
}

/** Whether the error shows that the file is none of ours any more: ERROR is a schema that cannot be read. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === sqliteCorrupt || code === sqliteNotADatabase || code === 1;
}

function openEntries(file: string, bounds: CacheBounds) {
  const database = openDatabase(file, 'checkpoint', 2_000);
  try {
    database.exec(schema);
    return entriesIn(database, bounds);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * `cache.db`: no migrations, since a file of another form is made anew. Rows are written as their answers end, so ids are
 * in the order of age. A look for a key, a model or a tag reads all rows: only operators ask so.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    tag TEXT,
    bytes INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    UNIQUE (scope, digest)
  ) STRICT;
  DROP INDEX IF EXISTS entry_of_scope;
  DROP INDEX IF EXISTS entry_age;
  DROP INDEX IF EXISTS entry_key;
  CREATE INDEX IF NOT EXISTS entry_order ON entry (scope, id, bytes);
  CREATE INDEX IF NOT EXISTS entry_expiry ON entry (expires_ms);
`;

function statementsOf(database: Database) {
  const rows = (text: string) => {
    const statement = database.prepare(text);
    return (...values: (string | number | null)[]) => statement.all(...values).map(rowOf);
  };
  const sum = (text: string) => {
    const statement = database.prepare(text);
    return (...values: string[]) => Number(statement.get(...values)?.bytes);
  };
  const dataVersion = database.prepare('PRAGMA data_version');
  return {
    insert: database.prepare(
      `INSERT INTO entry (scope, digest, at_ms, expires_ms, key_id, model, tag, bytes, sealed)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    remove: database.prepare('DELETE FROM entry WHERE id = ?'),
    timeOf: database.prepare('SELECT at_ms FROM entry WHERE scope = ? AND digest = ? AND expires_ms > ?'),
    same: rows('SELECT id, scope, digest, bytes FROM entry WHERE scope = ? AND digest = ?'),
    expired: rows(`SELECT id, scope, digest, bytes FROM entry WHERE expires_ms <= ? LIMIT ${expiredAtOnceMax}`),
    oldestOfScope: rows(
      `SELECT id, scope, digest, bytes FROM entry WHERE scope = ? ORDER BY id LIMIT ${oldestAtOnceMax}`,
    ),
    oldestOfAll: rows(`SELECT id, scope, digest, bytes FROM entry ORDER BY id LIMIT ${oldestAtOnceMax}`),
    selected: rows(
      `SELECT id, scope, digest, bytes FROM entry
       WHERE id > ?1 AND (?2 IS NULL OR scope = ?2) AND (?3 IS NULL OR model = ?3) AND (?4 IS NULL OR tag = ?4)
         AND (?5 IS NULL OR key_id = ?5)
       ORDER BY id LIMIT ${removedAtOnceMax}`,
    ),
    sumOfScope: sum('SELECT total(bytes) AS bytes FROM entry WHERE scope = ?'),
    sumOfAll: sum('SELECT total(bytes) AS bytes FROM entry'),
    /** Changes with each commit of another connection. */
    version: () => Number(dataVersion.get()?.data_version),
    summary: database.prepare(
      `SELECT scope, model, count(*) AS entries, sum(bytes) AS bytes, min(at_ms) AS oldest_ms FROM entry
       WHERE expires_ms > ? GROUP BY scope, model ORDER BY scope, model`,
    ),
  };
}

function rowOf({ id, scope, digest, bytes }: Record<string, unknown>): Row {
  return { id: Number(id), scope: String(scope), digest: String(digest), bytes: Number(bytes) };
}

/** How long sums may leave out what other processes of this server have written: they are read from all rows. */
const othersUnknownMs = 2_000;

/** Sums of bytes, which follow each change; they are read where they are unknown. */
function createSums({ sumOfScope, sumOfAll, version }: ReturnType<typeof statementsOf>) {
  const ofScopes = new Map<string, number>();
  let all: number | null = null;
  let othersVersion = version();
  let readMs = 0;

  function forget(): void {
    ofScopes.clear();
    all = null;
    readMs = performance.now();
  }

  function ofScope(scope: string): number {
    let bytes = ofScopes.get(scope);
    if (bytes === undefined) {
      if (ofScopes.size === scopesMax) ofScopes.clear();
      bytes = sumOfScope(scope);
      ofScopes.set(scope, bytes);
    }
    return bytes;
  }

  return {
    ofScope,
    ofAll: () => (all ??= sumOfAll()),
    /** Before the rows change. */
    add(scope: string, bytes: number): void {
      all = (all ?? sumOfAll()) + bytes;
      ofScopes.set(scope, ofScope(scope) + bytes);
    },
    /** Within a transaction. */
    followOthers(): void {
      const now = version();
      if (now === othersVersion || performance.now() - readMs < othersUnknownMs) return;
      othersVersion = now;
      forget();
    },
    /** Where there is none, another process has removed those that the sums tell of. */
    found(rows: readonly Row[]): readonly Row[] {
      if (rows.length === 0) forget();
      return rows;
    },
    forget,
  };
}

function commitIn(database: Database, sums: ReturnType<typeof createSums>, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    sums.followOthers();
    work();
    database.exec('COMMIT');
  } catch (error) {
    undo(database);
    sums.forget();
    throw error;
  }
}

function entriesIn(database: Database, { scopeBytes, totalBytes }: CacheBounds) {
  const statements = statementsOf(database);
  const sums = createSums(statements);

  function remove(rows: readonly Row[], enough: () => boolean = () => false): void {
    for (const { id, scope, bytes } of rows) {
      if (enough()) return;
      sums.add(scope, -bytes);
      statements.remove.run(id);
    }
  }

  /** `removed` gets those that had to make room. */
  function write({ scope, digest, entry }: WrittenEntry, removed: EntryPlace[]): void {
    const bytes = entry.body.length + rowBytes;
    if (bytes > Math.min(scopeBytes, totalBytes)) return;
    remove(statements.same(scope, digest));
    sums.add(scope, bytes);
    const { atMs, expiresAtMs, keyId, model, tag, body } = entry;
    statements.insert.run(scope, digest, atMs, expiresAtMs, keyId, model, tag, bytes, body);
    const scopeFits = () => sums.ofScope(scope) <= scopeBytes;
    const makeRoom = (rows: readonly Row[], enough: () => boolean) => {
      removed.push(...rows.map(({ scope, digest }) => ({ scope, digest })));
      remove(rows, enough);
    };
    while (!scopeFits()) makeRoom(sums.found(statements.oldestOfScope(scope)), scopeFits);
    const allFits = () => sums.ofAll() <= totalBytes;
    while (!allFits()) makeRoom(sums.found(statements.oldestOfAll()), allFits);
  }

  const committed = (work: () => void) => commitIn(database, sums, work);

  return {
    database,
    put(entries: readonly WrittenEntry[], nowMs: number): EntryPlace[] {
      const removed: EntryPlace[] = [];
      committed(() => {
        remove(statements.expired(nowMs));
        for (const entry of entries) write(entry, removed);
      });
      return removed;
    },
    swap(entry: WrittenEntry, over: number | null, nowMs: number): boolean {
      let isStill = false;
      committed(() => {
        const found = statements.timeOf.get(entry.scope, entry.digest, nowMs);
        isStill = (found === undefined ? null : Number(found.at_ms)) === over;
        if (isStill) write(entry, []);
      });
      return isStill;
    },
    clear({ scope, keyId, model, tag }: CacheSelection): number {
      for (let removed = 0, behind = 0; ; ) {
        const rows = statements.selected(behind, scope ?? null, model ?? null, tag ?? null, keyId ?? null);
        committed(() => remove(rows));
        removed += rows.length;
        if (rows.length < removedAtOnceMax) return removed;
        behind = rows.at(-1)?.id ?? behind;
      }
    },
    stats: (nowMs: number): CacheScopeStats[] =>
      statements.summary.all(nowMs).map(({ scope, model, entries, bytes, oldest_ms: oldestMs }) => ({
        scope: String(scope),
        model: String(model),
        entries: Number(entries),
        bytes: Number(bytes),
        oldestMs: Number(oldestMs),
      })),
  };
}
