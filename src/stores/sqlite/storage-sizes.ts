import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { KeptBytes, MeasuredKind } from '../../metering/storage-book.ts';

/** A database of the data folder, and the bytes of each owner in it. Tenants are `account/name`. */
const looks: readonly { file: string; kind: MeasuredKind; sql: string; accountOf(owner: string): string }[] = [
  {
    file: 'pages.db',
    kind: 'pages',
    sql: 'SELECT tenant AS owner, sum(chars) AS bytes FROM page GROUP BY tenant',
    accountOf: accountOfTenant,
  },
  {
    file: 'crawl.db',
    kind: 'crawls',
    sql: `SELECT account AS owner, sum(octet_length(page)) AS bytes FROM crawl_page JOIN crawl ON crawl.id = crawl
      GROUP BY account`,
    accountOf: (owner) => owner,
  },
  {
    file: 'responses.db',
    kind: 'responses',
    sql: `SELECT tenant AS owner, sum(length(input) + length(answer) + coalesce(length(events), 0)) AS bytes
        FROM response GROUP BY tenant
      UNION ALL SELECT tenant AS owner, sum(length(item)) AS bytes FROM conversation_item GROUP BY tenant`,
    accountOf: accountOfTenant,
  },
  {
    file: 'culvert.db',
    kind: 'replies',
    sql: 'SELECT scope AS owner, sum(length(sealed)) AS bytes FROM reply GROUP BY scope',
    accountOf: (owner) => accountOfTenant(owner.slice(owner.indexOf(':') + 1)),
  },
];

export function accountOfTenant(tenant: string): string {
  return tenant.split('/', 1)[0]!;
}

/**
 * Bytes of accounts in the databases of a data folder. Reads lengths only, in a thread, because there may be many rows.
 */
export function storageSizes(path: string): KeptBytes[] {
  return looks.flatMap(({ file, kind, sql, accountOf }) => {
    if (!existsSync(join(path, file))) return [];
    const database = new DatabaseSync(join(path, file), { readOnly: true, timeout: 250 });
    try {
      const rows = database.prepare(sql).all();
      return rows.map(({ owner, bytes }) => ({ account: accountOf(String(owner)), kind, bytes: Number(bytes ?? 0) }));
    } finally {
      database.close();
    }
  });
}
