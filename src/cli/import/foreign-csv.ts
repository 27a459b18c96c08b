import type { ForeignYaml } from './foreign-yaml.ts';

/** Exports have a line for each request. */
const fileBytesMax = 64 * 1024 * 1024;

/** A cell, in quotes or not, and what ends it (RFC 4180). */
const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** A CSV file as a list of its rows, each a mapping by the names of the first line. */
export function readForeignCsv(text: string): { ok: true; file: ForeignYaml } | { ok: false; message: string } {
  if (Buffer.byteLength(text) > fileBytesMax) return { ok: false, message: 'is larger than 64 MB' };
  const rows: { cells: string[]; line: number }[] = [];
  let [at, line, row] = [text.startsWith('\uFEFF') ? 1 : 0, 1, { cells: [] as string[], line: 1 }];
  // Behind a comma at the very end there is one more cell, which is empty.
  while (at < text.length || row.cells.length > 0) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    if (found === null) return { ok: false, message: `is not valid CSV at line ${line}` };
    const [whole, quoted, plain, end] = found;
    row.cells.push(quoted?.replaceAll('""', '"') ?? plain!);
    line += whole.split('\n').length - 1;
    at += whole.length;
    if (end === ',') continue;
    // An empty line has one empty cell.
    if (row.cells.length > 1 || row.cells[0] !== '') rows.push(row);
    row = { cells: [], line };
  }
  const [head = { cells: [] }, ...records] = rows;
  return {
    ok: true,
    file: {
      value: records.map(({ cells }) =>
        Object.fromEntries(head.cells.map((name, column) => [name, cells[column] ?? ''])),
      ),
      lineOf: ([index]) => records[Number(index)]?.line ?? 1,
    },
  };
}
