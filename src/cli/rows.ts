import type { AdminClient, AdminFlags, AdminQuery } from './admin-client.ts';
import { CommandFailed } from './command-failed.ts';
import type { CliParts } from './parts.ts';
import { listForm, note, print, printJson } from './print.ts';
import { table } from './table.ts';

/** One object of the admin API, whose fields are as its server made them. */
export type Row = Readonly<Record<string, unknown>>;

/** A column that says `usual` in every row is left out. */
export type Column = readonly [heading: string, cell: (row: Row) => unknown, usual?: string];

const pageRows = 1_000;

/** The first `rowsMax` rows of a list, read page by page. `more`: there are others. */
export async function listRows(
  admin: AdminClient,
  path: string,
  query: AdminQuery,
  rowsMax: number,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (;;) {
    const limit = Math.min(pageRows, rowsMax - rows.length);
    const page = pageOf(await admin.request('GET', path, { query: { ...query, limit, cursor } }));
    rows.push(...page.data);
    if (page.next_cursor === null) return { rows, more: false };
    if (rows.length >= rowsMax || page.data.length === 0) return { rows, more: true };
    cursor = String(page.next_cursor);
  }
}

function pageOf(reply: unknown): { data: Row[]; next_cursor: string | number | null } {
  const { data, next_cursor } = (reply ?? {}) as { data?: Row[]; next_cursor?: string | number | null };
  if (!Array.isArray(data)) throw new CommandFailed('The admin API answered with something that is not a list.');
  return { data, next_cursor: next_cursor ?? null };
}

interface Listing {
  path: string;
  query: (admin: AdminClient) => Promise<AdminQuery>;
  /** Where it stops. */
  rowsMax: number;
  columns: readonly Column[];
  empty: string;
  /** Said where it stops. */
  more?: string | undefined;
}

/** A command that lists: its exit code. */
export async function list(flags: AdminFlags, parts: CliParts, listing: Listing): Promise<number> {
  const { path, query, rowsMax, columns, empty, more } = listing;
  const { withAdmin } = await import('./admin-client.ts');
  const listed = await withAdmin(flags, parts, async (admin) => listRows(admin, path, await query(admin), rowsMax));
  printRows(flags, listed.rows, columns, empty);
  if (listed.more && more !== undefined) note(more);
  return 0;
}

/** Where an entry is set, in the column `from`. */
export function originOf({ source, shadowed }: Row): unknown {
  return shadowed === true ? `${source} (over a stored one)` : source;
}

/** A list as people read it, or `{data}` as JSON. `empty` is what to say of an empty one. */
function printRows(
  flags: { json?: boolean | undefined },
  rows: readonly Row[],
  columns: readonly Column[],
  empty: string,
): void {
  if (listForm(flags) === 'json') printJson({ data: rows });
  else if (rows.length === 0) note(empty);
  else print(rowTable(rows, columns));
}

export function rowTable(rows: readonly Row[], columns: readonly Column[]): string {
  const informative = columns.filter(([, cell, usual]) => rows.some((row) => shown(cell(row)) !== usual));
  return table(
    informative.map(([heading]) => heading),
    rows.map((row) => informative.map(([, cell]) => shown(cell(row)))),
  );
}

/** One object for people: its fields, a line each. */
export function rowText(row: Row): string {
  const fields = Object.entries(row).filter(([, value]) => value !== null);
  const lines = fields.map(([name, value]) => [name, shown(value)]);
  return table(['', ''], lines).trimStart();
}

/** A value in a cell: nothing for null, lists parted by commas, objects as JSON. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(shown).join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** `2026-01-02T03:04:05.678Z` → `2026-01-02 03:04:05`. */
export function shownTime(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 19).replace('T', ' ') : '';
}

/** `2026-01-02` of a time, `otherwise` where there is none. */
export function shownDate(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value.slice(0, 10) : otherwise;
}
