import { csvLine } from '../../../../src/admin/csv.ts';
import { type Column, valueIn } from './table-columns.ts';

/** The shown table as CSV: its columns by their heads, figures unrounded. */
export function csvOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const shown = columns.filter(({ kind }) => kind === undefined);
  const lines = rows.map((row) => csvLine(shown.map((column) => plain(valueIn(column, row)))));
  return csvLine(shown.map(({ head }) => head)) + lines.join('');
}

/** Never `1e-7`, which a spreadsheet may take for a text. */
function plain(value: string | number | null): string | number | null {
  if (typeof value !== 'number' || !String(value).includes('e')) return value;
  return Number(value.toFixed(12)) === 0 ? 0 : value.toFixed(12).replace(/\.?0+$/, '');
}
