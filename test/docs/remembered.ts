import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './snippets.ts';

type Findings = Record<string, { digest: string; found: readonly string[] }>;

const folder = join(root, 'node_modules', '.cache');
/** Rules that find something else find everything anew. */
const rules = [...globSync('test/docs/*.ts', { cwd: root }).sort(), 'node_modules/compromise/package.json'];
const rulesDigest = createHash('sha1')
  .update(JSON.stringify(rules.map((file) => readFileSync(join(root, file), 'utf8'))))
  .digest('hex');

/**
 * `find`, which reads nothing but its file, for files that have changed since the last run with these rules; what it found
 * of the others is remembered. Reading all sources takes ten seconds of a core. `keep` writes what was found.
 */
export function remembered(name: string, find: (file: string) => string[]) {
  const path = join(folder, `${name}.json`);
  const last = read(path);
  const now: Findings = {};
  return {
    find(file: string): readonly string[] {
      const digest = createHash('sha1').update(JSON.stringify([rulesDigest, readFileSync(join(root, file), 'utf8')]));
      const before = last[file];
      const entry = { digest: digest.digest('hex'), found: [] as readonly string[] };
      entry.found = before?.digest === entry.digest ? before.found : find(file);
      now[file] = entry;
      return entry.found;
    },
    keep() {
      mkdirSync(folder, { recursive: true });
      // Another run may write it too.
      writeFileSync(`${path}.${process.pid}`, JSON.stringify(now));
      renameSync(`${path}.${process.pid}`, path);
    },
  };
}

function read(path: string): Findings {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Findings;
  } catch {
    return {};
  }
}
