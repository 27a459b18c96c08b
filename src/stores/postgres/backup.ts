import { type BackupRow, portable, RestoreRefused } from '../backup-row.ts';
import { accountTables, type BackupTable, laterTables, ledgerTables } from '../backup-tables.ts';
import type { Database, Run, Transaction } from './database.ts';

const batchRows = 500;
/** A reply or a piece of a file may be a megabyte, in twice as many characters. */
const batchChars = 16 * 1024 * 1024;

/** Every row that a restore needs, of one instant, while servers write on. Holds one connection until it is read or left. */
export async function* readPostgresBackup({
  rest,
}: Pick<Database, 'rest'>): AsyncGenerator<BackupRow, void, undefined> {
  const transaction: Transaction = await rest.begin('snapshot');
  try {
    for (const { name: table, order } of backupTables) {
      await transaction.run(`DECLARE kept CURSOR FOR SELECT * FROM culvert.${table} ORDER BY ${order}`);
      for (;;) {
        const { rows } = await transaction.run(`FETCH ${batchRows} FROM kept`);
        for (const row of rows) yield { table, row: portable(row) };
        if (rows.length < batchRows) break;
      }
      await transaction.run('CLOSE kept');
    }
  } finally {
    await transaction.end('rollback').catch(() => {});
  }
}

/**
 * Writes the rows of a backup, of any driver, in one transaction: all of them or none. Columns that are another
 * driver's own are left out. Throws `RestoreRefused` where the tables hold something already.
 */
export async function writePostgresBackup(
  { rest, place }: Pick<Database, 'rest' | 'place'>,
  rows: AsyncIterable<BackupRow>,
): Promise<void> {
  await rest.transaction('write', async (run) => {
    if (await holdsRows(run))
      throw new RestoreRefused(`The database ${place} is not empty. Restore into a new one (storage.database).`);
    let batch: BackupRow[] = [];
    let chars = 0;
    const write = async () => {
      await writeBatch(run, batch);
      batch = [];
      chars = 0;
    };
    for await (const row of rows) {
      const isFull = batch.length === batchRows || chars >= batchChars;
      if (isFull || (batch[0] !== undefined && batch[0].table !== row.table)) await write();
      batch.push(row);
      for (const value of Object.values(row.row)) if (typeof value === 'string') chars += value.length;
    }
    await write();
    await run(`SELECT setval(pg_get_serial_sequence('culvert.audit', 'id'), max(id)) FROM culvert.audit`);
    await run('UPDATE culvert.store_version SET version = version + 1');
  });
}

async function writeBatch(run: Run, batch: readonly BackupRow[]): Promise<void> {
  const table = batch[0]?.table;
  if (table === undefined) return;
  if (!laterTables.includes(table) && !backupTables.some(({ name }) => name === table))
    throw new RestoreRefused(`The backup holds a table that this version does not know: ${JSON.stringify(table)}.`);
  const json = JSON.stringify(
    batch.map(({ row }) => row),
    // PostgreSQL keeps no NUL and no half of a surrogate pair in text, SQLite does.
    (_key, value) => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value),
  );
  await run(`INSERT INTO culvert.${table} SELECT * FROM json_populate_recordset(NULL::culvert.${table}, $1::json)`, [
    json,
  ]);
}

export const backupTables: readonly BackupTable[] = [...accountTables, ...ledgerTables];

/** Whether any table of a backup has a row; missing tables have none. */
export async function holdsRows(run: Run): Promise<boolean> {
  const { rows: there } = await run<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'culvert'`,
  );
  const tables = backupTables.filter(({ name }) => there.some(({ tablename }) => tablename === name));
  if (tables.length === 0) return false;
  const any = tables.map(({ name }) => `EXISTS (SELECT FROM culvert.${name})`).join(' OR ');
  const { rows } = await run<{ any: boolean }>(`SELECT ${any} AS any`);
  return rows[0]?.any === true;
}
