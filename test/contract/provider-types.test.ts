import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { providersReference } from '../../scripts/docs/provider-reference.ts';

test('docs/providers.md is what the catalog says (scripts/write-provider-docs.mjs writes it)', () => {
  assert.equal(readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8'), providersReference());
});
