// Run by `npm pack` and `npm publish`: the package's package.json names no packages, since the bundle holds them all. npm
// reads the file from this folder, so it is written there before and put back after.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, 'package.json');
const kept = join(root, 'node_modules', '.cache', 'culvert', 'package.json');

/** What optional and peer dependencies name is not in the bundle. */
export function packedManifest(text) {
  const { dependencies, devDependencies, overrides, ...rest } = JSON.parse(text);
  if (dependencies === undefined)
    throw new Error(`package.json is what an earlier pack, which failed, left behind; ${kept} is what it was.`);
  return `${JSON.stringify(rest, null, 2)}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv[2] === 'restore') renameSync(kept, file);
  else {
    const text = readFileSync(file, 'utf8');
    const packed = packedManifest(text);
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, text);
    writeFileSync(file, packed);
  }
}
