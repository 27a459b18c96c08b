import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { catalog } from '../../src/formats/providers/catalog.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('the comparison and the diagram count the types of providers that there are', () => {
  assert.match(page('comparison.md'), new RegExp(`\\| ${catalog.length} types, and any server`));
  assert.match(page('pictures/overview.svg'), new RegExp(`>${catalog.length} provider types<`));
});
