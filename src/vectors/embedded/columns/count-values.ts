import type { ValueCounts } from '../../value-counts.ts';
import type { Column } from './column.ts';

/** Counts what a column keeps: all but long strings. `slots`: null for all rows. */
export function countCodes(column: Column, slots: Uint32Array | null, counts: ValueCounts): void {
  const { dictionary } = column;
  const rows = slots === null ? null : new Uint32Array(dictionary.end);
  if (rows !== null) for (const slot of slots!) column.codes(slot, (code) => rows[code]!++);
  for (let code = 1; code < dictionary.end; code++) {
    counts.add(dictionary.value(code), rows === null ? dictionary.rows(code) : rows[code]!);
  }
}
