import { type KeptTable, keptOfAccounts, keptOfLedger } from '../kept-tables.ts';
import type { DataFolder } from './data-folder.ts';
import type { Database } from './database.ts';

/** By the file that they are in. A request's primary key here is a number made of its id (ledger-writer.ts). */
export const keptTables: Readonly<Record<keyof Pick<DataFolder, 'culvertDb' | 'ledgerDb'>, readonly KeptTable[]>> = {
  culvertDb: keptOfAccounts,
  ledgerDb: keptOfLedger.map((table) => (table.order === 'request_id' ? { ...table, order: 'key' } : table)),
};

export function holdsRows(database: Database, tables: readonly KeptTable[]): boolean {
  const any = tables.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ');
  return database.prepare(`SELECT ${any} AS found`).get()?.found === 1;
}
