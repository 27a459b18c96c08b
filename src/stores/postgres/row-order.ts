import type { Column } from '../../ledger/columns.ts';

/** Sorts rows by their key; text by its UTF-16. */
export function inOrder<Row extends object>(rows: Row[], key: readonly Column[]): Row[] {
  const fields = key.map(({ field }) => field as keyof Row);
  return rows.sort((a, b) => {
    for (const field of fields) if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1;
    return 0;
  });
}

/** Adds to the present values. */
export function onConflictAdd(table: string, key: readonly Column[], sums: readonly Column[]): string {
  const added = sums.map(({ name }) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  return `ON CONFLICT (${key.map(({ name }) => `"${name}"`).join(', ')}) DO UPDATE SET ${added}`;
}
