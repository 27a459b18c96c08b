import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { keepSchemaCopy } from '../../../kernel/sqlite/schema-copy.ts';
import { overloaded } from '../storage-trouble.ts';
import { shardCount } from './shard-of.ts';
import { shardMigrations } from './shard-schema.ts';

/** Longest that another process, such as a backup, may hold a write up. */
const busyTimeoutMs = 250;
/** Rows of 1,024 components fill two pages each to 88 %; larger pages cost single writes more. */
const pageBytes = 4_096;
/** Kept in memory of each open shard. */
const cacheKb = 4_096;
/** Bounds of the write-ahead log. */
export interface WalBounds {
  /** Bytes in it before its pages are moved into the file. Its disk space is given back beyond four times that. */
  checkpointBytes: number;
  /** It grows to this while a long read keeps it from being emptied; then writes are refused. */
  bytesMax: number;
}

const walBounds: WalBounds = { checkpointBytes: 16 * 1024 * 1024, bytesMax: 512 * 1024 * 1024 };

/** One data file: the durable truth of a shard, used by one thread. */
export interface ShardFile {
  readonly number: number;
  readonly file: string;
  prepare(sql: string): StatementSync;
  /** The same, rows read as arrays: half the cost of objects. */
  prepareRows(sql: string): StatementSync;
  exec(sql: string): void;
  /** Many reads as one transaction: alone, each takes the file's locks and gives them back, over half of its cost. */
  reading<T>(read: () => T): T;
  /** A transaction is open; the database ends it when the disk is full. */
  inTransaction(): boolean;
  /** After a commit: moves the log into the file once it is long. Never throws. */
  checkpoint(): void;
  /** Why the log is at its bound and no write may be taken; null mostly. */
  logFull(): string | null;
  close(): void;
}

/** Opens or creates a shard's file. Throws what SQLite throws, and a plain Error for a file that is another's. */
export function openShardFile(file: string, number: number, wal: WalBounds = walBounds): ShardFile {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: 2_000 });
  try {
    // No memory map: of a file that was cut, or on a disk that fails, reading it would end the process.
    database.exec(
      `PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA mmap_size = 0;
       PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${4 * wal.checkpointBytes};
       PRAGMA cache_size = -${cacheKb}; PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA cell_size_check = ON`,
    );
    bringUpToDate(database, file, number);
  } catch (error) {
    database.close();
    throw error;
  }
  const look = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const move = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const begin = database.prepare('BEGIN');
  const end = database.prepare('COMMIT');
  /** Nothing was written, so its end does not matter. After damaged pages SQLite does not commit. */
  const endReading = () => {
    try {
      end.run();
    } catch {
      if (database.isTransaction) database.exec('ROLLBACK');
    }
  };
  const logged = () => frames(look.get());
  let written = logged();

  return {
    number,
    file,
    prepare: (sql) => database.prepare(sql),
    prepareRows(sql) {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    },
    exec: (sql) => database.exec(sql),
    reading(read) {
      if (database.isTransaction) return read();
      begin.run();
      try {
        return read();
      } finally {
        endReading();
      }
    },
    inTransaction: () => database.isTransaction,
    checkpoint() {
      try {
        written = logged();
        if (written < wal.checkpointBytes) return;
        written = frames(move.get());
      } catch {
        // The disk is full: the log keeps its pages, and the next commit tries again.
      }
    },
    logFull() {
      if (written < wal.bytesMax) return null;
      this.checkpoint();
      return written < wal.bytesMax
        ? null
        : `the write-ahead log has ${wal.bytesMax} bytes, and a reader such as a backup keeps Culvert from emptying it`;
    },
    close: () => database.close(),
  };
}

/** `wal_checkpoint` gives frames in the log and frames moved into the file. */
function frames(row: Record<string, unknown> | undefined): number {
  const log = Number(row?.log ?? 0);
  const moved = Number(row?.checkpointed ?? 0);
  return Math.max(0, log - moved) * pageBytes;
}

/** The file of an earlier version is copied first, so that its program can be used again. */
function bringUpToDate(database: DatabaseSync, file: string, number: number): void {
  const versionNow = () => Number(database.prepare('PRAGMA user_version').get()?.user_version);
  const version = versionNow();
  const steps = shardMigrations(number);
  if (version > steps.length) throw overloaded('A newer Culvert wrote the vector data. Start that version.');
  if (version < steps.length) {
    const copyTo = (path: string) => database.prepare('VACUUM INTO ?').run(path);
    if (version > 0) keepSchemaCopy(file, version, { copyTo, versionNow });
    database.exec('BEGIN IMMEDIATE');
    for (const step of steps.slice(version)) database.exec(step.sql);
    database.exec(`PRAGMA user_version = ${steps.length}; COMMIT`);
  }
  const row = database.prepare('SELECT number, count FROM shard').get();
  if (row?.number === number && row.count === shardCount) return;
  throw overloaded(
    `shard-${number}.db says it is shard ${row?.number} of ${row?.count}, not ${number} of ${shardCount}. Put the files back as they were.`,
  );
}
