import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isObject, listIn, objectIn } from '../kernel/json.ts';
import type { ConfigPath } from './problem.ts';
import { type ReferenceSources, secretFilePaths } from './references.ts';
import { configBytesMax, type Place, readYaml, type SourceProblem, type YamlSource } from './yaml-source.ts';

/** Sections that an included file may have. The others are of the operator alone: addresses, storage, code. */
const sections = ['providers', 'models', 'guards', 'prompts', 'routes', 'tiers', 'plans', 'accounts', 'keys'] as const;
const filesMax = 200;

/** A configuration file with those that it includes, as if it were one text. */
export interface WholeSource extends YamlSource {
  /** The place of `path` (as `YamlSource.place`), with the included file that has it; null: the file itself. */
  find(path: ConfigPath): { file: string | null; place: Place };
  problems: readonly (SourceProblem & { file: string | null })[];
  /** Included files and folders and the secret files that they name, absolute. */
  sources: readonly string[];
}

/** The included file that has an entry, and the entry's path there. */
interface Owner {
  part: YamlSource;
  shownAs: string;
  path: ConfigPath;
}

type Report = (path: ConfigPath, message: string, place?: Place, file?: string | null) => void;

interface Found {
  /** For messages: as the including file names it. */
  shownAs: string;
  file: string;
}

/** Reads a configuration and what its `include` names. Never throws. */
export function readWithIncluded(text: string, references: ReferenceSources): WholeSource {
  const main = readYaml(text, references);
  const { value } = main;
  const problems: (SourceProblem & { file: string | null })[] = main.problems.map((one) => ({ ...one, file: null }));
  const whole = {
    ...main,
    problems,
    sources: [],
    find: (path: ConfigPath) => ({ file: null, place: main.place(path) }),
  };
  const named = isObject(value) ? listIn(value.include) : [];
  if (!isObject(value) || named.length === 0) return whole;

  const sources: string[] = [];
  const expanded = [...main.expanded];
  /** By section and name or index: who has it, and the path that it has there. */
  const owners = new Map<string, Owner>();
  const report: Report = (path, message, place = main.place(path), file = null) =>
    problems.push({ path, message, place, file });

  // A name that came from a reference is shown by its place.
  const nameOf = (entry: string, index: number) =>
    main.expanded.some(({ path }) => path[0] === 'include' && path[1] === index) ? `include[${index}]` : entry;
  for (const { shownAs, file } of filesOf(named, references.directory, sources, report, nameOf)) {
    const read = readText(file);
    if ('message' in read) {
      report(['include'], `${shownAs} ${read.message}`);
      continue;
    }
    const directory = dirname(file);
    sources.push(...secretFilePaths(read.text, directory));
    const part = readYaml(read.text, { env: references.env, directory });
    // An index of `keys` moves behind those that are there already.
    const before = Array.isArray(value.keys) ? value.keys.length : 0;
    const moved = (path: ConfigPath): ConfigPath =>
      path[0] === 'keys' && typeof path[1] === 'number' ? ['keys', path[1] + before, ...path.slice(2)] : path;
    problems.push(...part.problems.map((one) => ({ ...one, path: moved(one.path), file: shownAs })));
    expanded.push(...part.expanded.map((one) => ({ ...one, path: moved(one.path) })));
    addPart(value, { part, shownAs, owners, report });
  }
  return {
    ...whole,
    expanded,
    sources,
    find(path) {
      const owner = owners.get(`${path[0]} ${path[1]}`);
      if (owner === undefined) return { file: null, place: main.place(path) };
      return { file: owner.shownAs, place: owner.part.place([...owner.path, ...path.slice(2)]) };
    },
  };
}

/** Adds the sections of `part` to `value`. */
function addPart(
  value: Record<string, unknown>,
  { part, shownAs, owners, report }: Omit<Owner, 'path'> & { owners: Map<string, Owner>; report: Report },
): void {
  const refuse = (path: ConfigPath, message: string) => report(path, message, part.place(path), shownAs);
  for (const [section, entries] of Object.entries(objectIn(part.value))) {
    if (!(sections as readonly string[]).includes(section)) {
      refuse([section], `an included file has ${sections.join(', ')} only`);
      continue;
    }
    if (section === 'keys' ? !Array.isArray(entries) : !isObject(entries)) {
      refuse([section], section === 'keys' ? 'expected a list' : 'expected a mapping');
      continue;
    }
    value[section] ??= section === 'keys' ? [] : {};
    const all = value[section];
    if (Array.isArray(all) && Array.isArray(entries)) {
      for (const [index, entry] of entries.entries()) {
        owners.set(`keys ${all.length}`, { part, shownAs, path: ['keys', index] });
        all.push(entry);
      }
    } else if (isObject(all) && isObject(entries)) {
      for (const [name, entry] of Object.entries(entries)) {
        if (Object.hasOwn(all, name)) {
          const other = owners.get(`${section} ${name}`)?.shownAs ?? 'the including file';
          refuse([section, name], `${other} has this name too`);
          continue;
        }
        all[name] = entry;
        owners.set(`${section} ${name}`, { part, shownAs, path: [section, name] });
      }
    }
  }
}

/** Texts of the files that `text` includes, as far as they can be read. */
export function includedTexts(text: string, references: ReferenceSources): string[] {
  if (!text.includes('include')) return [];
  const { value } = readYaml(text, references);
  const files = isObject(value) ? filesOf(listIn(value.include), references.directory, [], () => {}, String) : [];
  return files.flatMap(({ file }) => {
    const read = readText(file);
    return 'text' in read ? [read.text] : [];
  });
}

/** Files in the order of `named`, those of a folder by name. Adds what must be watched to `sources`. */
function filesOf(
  named: readonly unknown[],
  directory: string,
  sources: string[],
  report: Report,
  nameOf: (entry: string, index: number) => string,
): Found[] {
  const found: Found[] = [];
  for (const [index, entry] of named.entries()) {
    if (typeof entry !== 'string') continue;
    const path = resolve(directory, entry);
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts === undefined) report(['include', index], 'there is no such file or folder');
    if (!facts?.isDirectory()) {
      sources.push(path);
      if (facts !== undefined) found.push({ shownAs: nameOf(entry, index), file: path });
      continue;
    }
    // Its facts change when an entry comes or goes. The dot makes the watch look into it, and not at it from above.
    sources.push(`${path}/.`);
    for (const name of readdirSync(path).sort()) {
      if (name.startsWith('.') || !/\.ya?ml$/.test(name)) continue;
      found.push({ shownAs: join(nameOf(entry, index), name), file: join(path, name) });
      sources.push(join(path, name));
    }
  }
  if (found.length > filesMax) report(['include'], `it names more than ${filesMax} files`);
  return found.slice(0, filesMax);
}

/** The text of a configuration file, or why there is none, as of "the file". */
export function readText(file: string): { text: string } | { message: string } {
  try {
    const facts = statSync(file);
    if (!facts.isFile()) return { message: 'is not a file' };
    if (facts.size > configBytesMax) return { message: 'is larger than 4 MB' };
    const bytes = readFileSync(file);
    // PowerShell writes UTF-16. In Latin-1, a password would have other letters.
    if (!isUtf8(bytes) || bytes.includes(0)) return { message: 'is not in UTF-8: save it in that encoding' };
    const text = bytes.toString('utf8');
    // Cut to nothing by a full disk, or about to be written: its keys would be gone.
    return text.trim() === '' ? { message: 'is empty' } : { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { message: `cannot be read (${code})` };
  }
}
