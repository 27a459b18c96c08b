import type { StoredBytes, StoredKind } from '../books/metering/storage/storage-counts.ts';

/** Rows of accounts in a table of either database, by owner. */
export interface StorageLook {
  kind: StoredKind;
  /** The file of the data folder that has its tables; PostgreSQL has those of all. */
  file: string;
  /** Gives `owner` and `bytes`. `prefix` goes before the name of each table: '' or `culvert.`. Reads lengths only. */
  sql(prefix: string, nowMs: number): string;
  accountOf(owner: string): string;
}

export const storageLooks: readonly StorageLook[] = [
  {
    kind: 'pages',
    file: 'pages.db',
    sql: (prefix) => `SELECT tenant AS owner, sum(chars) AS bytes FROM ${prefix}page GROUP BY tenant`,
    accountOf: accountOfTenant,
  },
  {
    kind: 'crawls',
    file: 'crawl.db',
    sql: (prefix) => `SELECT account AS owner, sum(octet_length(page)) AS bytes
      FROM ${prefix}crawl_page JOIN ${prefix}crawl AS crawl ON crawl.id = crawl GROUP BY account`,
    accountOf: (owner) => owner,
  },
  {
    kind: 'responses',
    file: 'responses.db',
    sql: (prefix) => `SELECT tenant AS owner, sum(length(input) + coalesce(length(events), 0)
        + CASE WHEN boot_id IS NULL THEN length(answer) ELSE 0 END) AS bytes FROM ${prefix}response GROUP BY tenant
      UNION ALL SELECT tenant AS owner, sum(length(metadata)) AS bytes FROM ${prefix}conversation GROUP BY tenant
      UNION ALL SELECT tenant AS owner, sum(length(item)) AS bytes FROM ${prefix}conversation_item GROUP BY tenant`,
    accountOf: accountOfTenant,
  },
  {
    kind: 'files',
    file: 'batches.db',
    sql: (prefix) => `SELECT tenant AS owner, sum(bytes) AS bytes FROM ${prefix}stored_file GROUP BY tenant
      UNION ALL SELECT tenant AS owner, sum(line.bytes) AS bytes
        FROM ${prefix}batch_line AS line JOIN ${prefix}batch AS batch ON batch.id = line.batch GROUP BY tenant`,
    accountOf: accountOfTenant,
  },
  {
    kind: 'pictures',
    file: 'culvert.db',
    sql: (prefix, nowMs) => `SELECT account AS owner, sum(bytes) AS bytes
      FROM ${prefix}picture WHERE until_ms > ${nowMs} GROUP BY account`,
    accountOf: (owner) => owner,
  },
  {
    kind: 'replies',
    file: 'culvert.db',
    sql: (prefix) => `SELECT scope AS owner, sum(length(sealed)) AS bytes FROM ${prefix}reply GROUP BY scope`,
    accountOf: (owner) => accountOfTenant(owner.slice(owner.indexOf(':') + 1)),
  },
];

/** Rows of `look.sql` as the storage book takes them. */
export function storedBytesOf(
  { kind, accountOf }: StorageLook,
  rows: readonly Record<string, unknown>[],
): StoredBytes[] {
  return rows.map(({ owner, bytes }) => ({ account: accountOf(String(owner)), kind, bytes: Number(bytes ?? 0) }));
}

/** Tenants are `account/name`. */
export function accountOfTenant(tenant: string): string {
  const [account = ''] = tenant.split('/', 1);
  return account;
}
