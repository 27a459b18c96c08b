import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { providerTypes } from '../../src/config/schema-providers.ts';
import { catalog } from '../../src/inference/providers/catalog.ts';
import { providersReference } from '../../src/inference/providers/reference.ts';

test('every provider type of the configuration is in the catalog, and no other', () => {
  assert.deepEqual(catalog.map((provider) => provider.id).sort(), [...providerTypes].sort());
});

test('docs/providers.md is what the catalog says (scripts/write-provider-docs.mjs writes it)', () => {
  assert.equal(readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8'), providersReference());
});
