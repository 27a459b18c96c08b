import type { Database } from './database.ts';

/** All days before are added up in `rollup_day` and `rollup_name`. */
export function summedMs(database: Database): number {
  return Number(database.prepare('SELECT until_ms FROM summed').get()?.until_ms ?? 0);
}
