import type { Run } from './database.ts';

/** What a restore needs, each before those that refer to it; and the order of its rows. Replies, notices and boots pass. */
export const keptTables: readonly (readonly [table: string, order: string])[] = [
  ['account', 'id'],
  ['api_key', 'id'],
  ['api_key_secret', 'hash'],
  ['plan', 'name'],
  ['audit', 'id'],
  ['crossing', 'scope, limit_id, share'],
  ['reservation', 'request_id'],
  ['usage_event', 'request_id'],
  ['quota_bucket', 'scope, grain_ms, bucket'],
  ['rollup', 'hour, account, key_id, endpoint, alias, provider'],
];
/** Whether any table that a backup keeps has a row; tables that are not there have none. */
export async function holdsRows(run: Run): Promise<boolean> {
  const { rows: there } = await run<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'culvert'`,
  );
  const tables = keptTables.filter(([table]) => there.some(({ tablename }) => tablename === table));
  if (tables.length === 0) return false;
  const any = tables.map(([table]) => `EXISTS (SELECT FROM culvert.${table})`).join(' OR ');
  const { rows } = await run<{ any: boolean }>(`SELECT ${any} AS any`);
  return rows[0]?.any === true;
}
