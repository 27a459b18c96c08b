import { readForeignCsv } from './foreign-csv.ts';
import { readForeignYaml } from './foreign-yaml.ts';
import type { Path } from './notes.ts';

/** A file of another program. */
export interface ForeignSource {
  name: string;
  text: string;
}

export interface ReadSource {
  name: string;
  value: unknown;
  lineOf(path: Path): number;
}

/** Reads files of JSON or YAML, and those called `.csv`; the message names the one that cannot be read. */
export function readSources(
  sources: readonly ForeignSource[],
): { ok: true; files: ReadSource[] } | { ok: false; message: string } {
  const files: ReadSource[] = [];
  for (const { name, text } of sources) {
    const read = name.toLowerCase().endsWith('.csv') ? readForeignCsv(text) : readForeignYaml(text);
    if (!read.ok) return { ok: false, message: sources.length > 1 ? `${name} ${read.message}` : read.message };
    files.push({ name, ...read.file });
  }
  return { ok: true, files };
}
