import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const table = readFileSync('web/src/pages/pages.ts', 'utf8');
const lists = table.split(/^export const /m).slice(1);

test('each page of a navigation has its own letter', () => {
  for (const list of lists) {
    const letters = [...list.matchAll(/\bkey: '(.)'/g)].map(([, letter]) => letter);
    assert.deepEqual(letters, [...new Set(letters)], list.slice(0, 40));
  }
});

test('a browser test opens each page', () => {
  const tests = globSync('test/browser/*.ts').map((file) => readFileSync(file, 'utf8'));
  const operator = lists.find((list) => list.startsWith('operatorPages')) ?? '';
  const paths = [...operator.matchAll(/\bpath: '([^']*)'/g)].map(([, path = '']) => path.replace(/\/\$\w+$/, ''));
  // The page of one entry may be reached by a click in its list.
  assert.ok(paths.length > 10);
  const unseen = paths.filter((path) => !tests.some((text) => text.includes(`/dashboard/${path}`)));
  assert.deepEqual(unseen, [], 'a page that no browser test opens: add it to test/browser/pages.ts');
});
