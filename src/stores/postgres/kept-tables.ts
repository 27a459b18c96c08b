import { type KeptTable, keptOfAccounts, keptOfLedger } from '../kept-tables.ts';
import type { Run } from './database.ts';

export const keptTables: readonly KeptTable[] = [...keptOfAccounts, ...keptOfLedger];

/** Whether any table of a backup has a row; missing tables have none. */
export async function holdsRows(run: Run): Promise<boolean> {
  const { rows: there } = await run<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'culvert'`,
  );
  const tables = keptTables.filter(({ name }) => there.some(({ tablename }) => tablename === name));
  if (tables.length === 0) return false;
  const any = tables.map(({ name }) => `EXISTS (SELECT FROM culvert.${name})`).join(' OR ');
  const { rows } = await run<{ any: boolean }>(`SELECT ${any} AS any`);
  return rows[0]?.any === true;
}
