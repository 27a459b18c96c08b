import { isObject, type JsonObject } from '../../kernel/json.ts';
import { readForeignCsv } from './foreign-csv.ts';
import { readForeignYaml } from './foreign-yaml.ts';
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
