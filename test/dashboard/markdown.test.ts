import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokensOf } from '../../web/src/parts/markdown-tokens.ts';

test('F25 a text of marks of emphasis alone is shown as it is, and holds no page up', () => {
  for (const text of ['*a_'.repeat(66_000), `- ${'*a_'.repeat(66_000)}`, `**b** and ${'_a'.repeat(99_000)}`]) {
    const told = JSON.stringify(tokensOf(text));
    assert.ok(!/"type":"(em|strong)"/.test(told), told.slice(0, 200));
  }
  assert.match(JSON.stringify(tokensOf('**b** and _c_')), /"type":"strong".*"type":"em"/);
  assert.equal(tokensOf('a'.repeat(200_001)), null);
});
