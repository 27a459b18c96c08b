import type { Database } from './database.ts';

/** All days before are added up in `dayTables` (ledger/day-sums). */
export function summedMs(database: Database): number {
  return Number(database.prepare('SELECT until_ms FROM summed').get()?.until_ms ?? 0);
}
