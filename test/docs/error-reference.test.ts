import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errorEntries, errorsReference } from '../../scripts/docs/error-reference.ts';

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

test('docs/errors.md is that of the table', () => {
  assert.ok(page === errorsReference(), 'The table gives another page. Run `npm run docs`.');
});

test('every error has one entry on the page, whose heading is its anchor', () => {
  const headings = [...page.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
  assert.deepEqual(headings.sort(), Object.keys(errorEntries).sort());
});
