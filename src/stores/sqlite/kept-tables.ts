import type { DataFolder } from './data-folder.ts';
import type { Database } from './database.ts';

export interface KeptTable {
  name: string;
  /** The primary key: the order of its rows in a backup. */
  order: string;
}

/** What a restore needs, by the file it is in, each table before those that refer to it. Replies, notices and boots pass. */
export const keptTables: Readonly<Record<keyof Pick<DataFolder, 'culvertDb' | 'ledgerDb'>, readonly KeptTable[]>> = {
  culvertDb: [
    { name: 'account', order: 'id' },
    { name: 'api_key', order: 'id' },
    { name: 'api_key_secret', order: 'hash' },
    { name: 'plan', order: 'name' },
    { name: 'audit', order: 'id' },
    { name: 'crossing', order: 'scope, limit_id, share' },
  ],
  ledgerDb: [
    { name: 'reservation', order: 'key' },
    { name: 'usage_event', order: 'key' },
    { name: 'quota_bucket', order: 'scope, grain_ms, bucket' },
    { name: 'rollup', order: 'hour, account, key_id, endpoint, alias, provider' },
  ],
};

export function holdsRows(database: Database, tables: readonly KeptTable[]): boolean {
  const any = tables.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ');
  return database.prepare(`SELECT ${any} AS found`).get()?.found === 1;
}
