// Licences of the packages that a bundle holds: they ask to go along with it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names, versions and licences of the packages that `files` are of, in their order; our own files are of none. */
export function licencesOf(files) {
  const folders = new Set(files.map((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]));
  folders.delete(undefined);
  return [...folders].sort().map(licenceOf).join('\n');
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version} (${license})\n\n${text}\n\n${'-'.repeat(80)}\n`;
}
