import { existsSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/** A hook's module: the file that is imported, or a package by its name. A sentence says why there is none. */
export type FoundModule = { file: string } | { package: string } | { missing: string };

const entries = ['hooks.ts', 'hooks.js', 'hooks.mjs', 'index.ts', 'index.js', 'index.mjs'];

/** Finds what `module` of the configuration names: a file or a folder relative to `folder`, else a package. */
export function findModule(named: string, folder: string): FoundModule {
  const isPath = named.startsWith('.') || isAbsolute(named);
  if (!isPath) return { package: named };
  const path = resolve(folder, named);
  const facts = factsOf(path);
  if (facts === undefined) return { missing: `there is no ${path}` };
  if (facts instanceof Error) return { missing: `${path} cannot be read: ${facts.message}` };
  if (!facts.isDirectory()) return { file: path };
  const entry = entries.find((name) => existsSync(join(path, name)));
  return entry === undefined
    ? { missing: `the folder ${path} has none of ${entries.join(', ')}` }
    : { file: join(path, entry) };
}

/** A file of a module, or of what it imports, and when it had last changed as it was read. */
export type HookFile = readonly [path: string, changedMs: number];

/** When a file last changed; 0: it is not there. */
export function changedMs(file: string): number {
  const facts = factsOf(file);
  return facts === undefined || facts instanceof Error ? 0 : facts.mtimeMs;
}

/** Another number once a link names another file; 0 for a package. */
export function inodeOf(found: FoundModule): number {
  const facts = 'file' in found ? factsOf(found.file) : undefined;
  return facts === undefined || facts instanceof Error ? 0 : facts.ino;
}

/** Facts of a file; undefined: there is none. An error: a loop of links, or a folder that this user may not enter. */
function factsOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    return error as Error;
  }
}
