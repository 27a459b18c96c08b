import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { catalog } from '../../src/inference/providers/catalog.ts';

test('the comparison counts the types of providers that there are', () => {
  const page = readFileSync(new URL('../../docs/comparison.md', import.meta.url), 'utf8');
  assert.match(page, new RegExp(`\\| ${catalog.length} types, and any server`));
});
