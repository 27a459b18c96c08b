import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type ForeignYaml, readForeignYaml } from './foreign-yaml.ts';
import { type ImportNote, Notes, type Path } from './notes.ts';
import type { Values, Variables } from './plain-values.ts';

/** A file of another program. */
export interface ForeignSource {
  name: string;
  text: string;
}

interface ReadSource {
  name: string;
  value: unknown;
  values: Values;
}

export interface ReadSources {
  ok: true;
  files: readonly ReadSource[];
  variables: Variables;
  notes(): readonly ImportNote[];
}

/** Where in which file an object is. */
export interface Place {
  path: Path;
  values: Values;
  /** Name of the member that holds it, else of its file. */
  name: string;
}

/** How to recognize an object that such files hold, and what reads it. */
export type Shape<Found> = readonly [
  is: (object: JsonObject) => boolean,
  read: (object: JsonObject, place: Place, found: Found) => void,
];

/** Reads files of JSON or YAML, and those called `.csv`; the message names the one that cannot be read. */
export function readSources(sources: readonly ForeignSource[]): ReadSources | { ok: false; message: string } {
  const files: ReadSource[] = [];
  const variables: Variables = new Map();
  for (const { name, text } of sources) {
    const read = name.toLowerCase().endsWith('.csv') ? readForeignCsv(text) : readForeignYaml(text);
    if (!read.ok) return { ok: false, message: sources.length > 1 ? `${name} ${read.message}` : read.message };
    const notes = new Notes(read.file.lineOf, sources.length > 1 ? name : undefined);
    files.push({ name: name.replace(/\.\w+$/, ''), value: read.file.value, values: { notes, variables } });
  }
  return { ok: true, files, variables, notes: () => files.flatMap(({ values }) => values.notes.list()) };
}

/** Members under which APIs answer lists: they name nothing. */
const lists = new Set(['data', 'configs', 'virtual_keys', 'providers', 'models']);

/** Reads each object of the files by the first shape that it has. Lists, and mappings of no shape, are searched. */
export function readShapes<Found>(files: readonly ReadSource[], shapes: readonly Shape<Found>[], found: Found): void {
  const visit = (value: unknown, place: Place): void => {
    const { path, name } = place;
    if (Array.isArray(value))
      for (const [index, one] of value.entries()) visit(one, { ...place, path: [...path, index] });
    if (!isObject(value)) return;
    const shape = shapes.find(([is]) => is(value));
    if (shape !== undefined) return shape[1](value, place, found);
    for (const [member, inner] of Object.entries(value))
      visit(inner, { ...place, path: [...path, member], name: lists.has(member) ? name : member });
  };
  for (const { name, value, values } of files) visit(value, { path: [], values, name });
}

/** The refusal of files that hold nothing to import, with the first of the notes, which often says why. */
export function nothingToImport(why: string, [first]: readonly ImportNote[]): { ok: false; message: string } {
  if (first === undefined) return { ok: false, message: why };
  return { ok: false, message: `${why}; ${first.line === null ? 'database' : `line ${first.line}`}: ${first.message}` };
}

/** Exports have a line for each request. */
const fileBytesMax = 64 * 1024 * 1024;

/** The rest of a cell, behind its quotes if it has some, and what ends it (RFC 4180). */
const rest = /([^",\r\n]*)(,|\r?\n|$)/y;

/** A CSV file as a list of its rows, each a mapping by the names of the first line. */
function readForeignCsv(text: string): { ok: true; file: ForeignYaml } | { ok: false; message: string } {
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
