import { type Column, cellsOf } from '../../ledger/columns.ts';
import type { Run, Statement } from './database.ts';

const arrayTypes = { text: 'text', whole: 'bigint', real: 'double precision' } as const;

/** Any number of rows in one statement, which stays the same whatever the number: one array a column. */
export interface BulkInsert<T> {
  into(run: Run, rows: readonly T[]): Promise<void>;
}

/** `onConflict` is the SQL that follows; the old row goes by the table's name, the new one is `excluded`. */
export function bulkInsert<T extends object>(
  table: string,
  columns: readonly Column[],
  onConflict: string,
): BulkInsert<T> {
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${arrayTypes[type]}[]`).join(', ');
  const statement: Statement = {
    name: `bulk-${table}`,
    text: `INSERT INTO culvert.${table} (${names}) SELECT * FROM unnest(${arrays}) ${onConflict}`,
  };
  return {
    async into(run, rows) {
      if (rows.length === 0) return;
      const cells = rows.map((row) => cellsOf(columns, row));
      await run(
        statement,
        columns.map((_, at) => cells.map((ofRow) => ofRow[at])),
      );
    },
  };
}
