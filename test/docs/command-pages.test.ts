import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commandsPage } from '../../scripts/docs/command-pages.ts';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { outlineOf } from '../../src/cli/reference/outline.ts';

test('docs/commands.md is what the commands declare', async () => {
  const nothing = async () => undefined;
  const program = await createProgram({ version: '0.0.0' } as CliParts, nothing, nothing, null);
  const page = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  assert.ok(page === commandsPage(outlineOf(program)), 'The commands declare another page. Run `npm run docs`.');
});
