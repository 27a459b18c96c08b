import type { ForeignYaml } from './foreign-yaml.ts';

/** Exports have a line for each request. */
const fileBytesMax = 64 * 1024 * 1024;

/** The rest of a cell, behind its quotes if it has some, and what ends it (RFC 4180). */
const rest = /([^",\r\n]*)(,|\r?\n|$)/y;

/** A CSV file as a list of its rows, each a mapping by the names of the first line. */
export function readForeignCsv(text: string): { ok: true; file: ForeignYaml } | { ok: false; message: string } {
  if (Buffer.byteLength(text) > fileBytesMax) return { ok: false, message: 'is larger than 64 MB' };
  const rows: { cells: string[]; line: number }[] = [];
  let [at, line, row] = [text.startsWith('\uFEFF') ? 1 : 0, 1, { cells: [] as string[], line: 1 }];
  // Behind a comma at the very end there is one more cell, which is empty.
  while (at < text.length || row.cells.length > 0) {
    const quotedEnd = text[at] === '"' ? endOfQuotes(text, at) : at;
    rest.lastIndex = quotedEnd;
    const [whole, plain = '', end] = rest.exec(text) ?? [];
    if (whole === undefined || (quotedEnd > at && plain !== '')) {
      return { ok: false, message: `is not valid CSV at line ${line}` };
    }
    row.cells.push(quotedEnd > at ? text.slice(at + 1, quotedEnd - 1).replaceAll('""', '"') : plain);
    const next = quotedEnd + whole.length;
    line += text.slice(at, next).split('\n').length - 1;
    at = next;
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

/** Behind the quote that ends the cell which begins at `from`; `from` where none does. Cells may have millions of quotes. */
function endOfQuotes(text: string, from: number): number {
  for (let at = from + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0) return from;
    if (text[at + 1] !== '"') return at + 1;
  }
}
