import type { AdminApi } from '../admin/admin-api.ts';
import type { Stored } from '../books/auth/account-store.ts';
import type { Config } from '../config/schema.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { BackupItem, BackupRow } from '../stores/backup-row.ts';
import type { SchemaState } from '../stores/migration.ts';
import type { Damage } from '../stores/sqlite/integrity.ts';

/** The part of a configuration that says where the stores are. */
type Storage = Pick<Config, 'storage'>;

/** Parts that commands need of rooms that only the composition root knows. */
export interface CliParts {
  version: string;
  /** Runs until a signal ends it; resolves to the exit code. */
  start(options: { config: string | undefined; host: string | undefined; port: number | undefined }): Promise<number>;
  mock(options: MockOptions): Promise<{ url: string; close(): Promise<void> }>;
  /** Every fault of `culvert mock` with a line. */
  mockHelp(): Promise<string>;
  /** Models that a start would serve, from the configuration and the remembered lists of the data folder. Asks nobody. */
  snapshotOf(config: Config): Promise<{ snapshot: Snapshot; problems: readonly string[] }>;
  /** Why a start would be refused although the configuration is valid, as sentences. Opens nothing. */
  startRefusals(config: Config): Promise<readonly string[]>;
  /**
   * The admin API in this process, over the stores that the configuration names. A server may run on them at the same
   * time: opening them charges no open reservation and takes no lock. `configFile`: the name for messages.
   */
  adminApi(config: Config, configFile: string | null): Promise<{ api: AdminApi; close(): Promise<void> }>;
  /**
   * Accounts, keys and plans of the stores; none where there is no data folder, which is not made for a look. Changes no
   * schema: rejects with an `OlderSchema` where PostgreSQL has that of an earlier version.
   */
  stored(config: Config): Promise<Stored>;
  /** The present answers of the stores, for `doctor`. Never rejects for a store that cannot be reached. */
  storeFacts(config: Storage): Promise<StoreFacts>;
  /** Databases of the data folder whose contents differ from what was written. Reads all, and changes nothing. */
  damages(config: Config): Promise<readonly Damage[]>;
  /** How far each database's schema is. Nothing is made or changed; a database that does not exist yet has all pending. */
  migrations(config: Storage): Promise<readonly SchemaState[]>;
  /** Brings every schema to this version's, under the driver's lock. */
  migrate(config: Storage): Promise<void>;
  /**
   * Everything that a restore needs, while servers run: rows first, then the files of the data folder, each database as
   * of one instant. The file `scratch` holds a copy of one of them meanwhile.
   */
  readBackup(config: Storage, scratch: string): AsyncIterable<BackupItem>;
  /**
   * Makes empty databases and writes these rows into them; rejects when one holds rows already. The rows may come from
   * another driver. With SQLite the files are complete and closed once it resolves.
   */
  writeBackup(config: Storage, rows: AsyncIterable<BackupRow>): Promise<void>;
}

export interface MockOptions {
  host: string;
  port: number;
  name: string;
  /** Called with every request once it has ended. */
  onEnded(request: { method: string; path: string; aborted: boolean; bytesSent: number; ms: number }): void;
}

export interface StoreFacts {
  database: {
    kind: 'sqlite' | 'postgres';
    /** Why it cannot be used, in words without host names' passwords; null when it can. */
    trouble: string | null;
    /** Such as `PostgreSQL 15.4`; null when it could not be asked. */
    version: string | null;
    /** Whether it holds no account, key or request; null when it could not be asked. */
    empty: boolean | null;
    /** Ms by which its clock is before (negative) or after ours; null when it has none. */
    clockAheadMs: number | null;
  };
  state: {
    kind: 'memory' | 'redis';
    trouble: string | null;
    version: string | null;
    /** For Redis: any value but `noeviction` may drop counters. Null when unknown. */
    maxmemoryPolicy: string | null;
    clockAheadMs: number | null;
  };
}
