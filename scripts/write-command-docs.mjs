// Writes docs/commands.md from the declarations of the commands; `scripts/build.mjs` writes the manual page. Run with the repository's Node:
// `node_modules/.bin/node scripts/write-command-docs.mjs`.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createProgram } from '../src/cli/program.ts';
import { manPage } from '../src/cli/reference/man-page.ts';
import { outlineOf } from '../src/cli/reference/outline.ts';
import { commandsPage } from './docs/command-pages.ts';

const nothing = async () => {};

async function outline(version) {
  return outlineOf(await createProgram({ version }, nothing, nothing, null));
}

/** The text of culvert(1). */
export async function manualPage(version) {
  return manPage(await outline(version), version, new Date());
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(new URL('../docs/commands.md', import.meta.url), commandsPage(await outline('')));
