import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../../test/machine-load.ts';
import type { Finding } from '../../guards/check.ts';
import { personalData } from '../../guards/checks/personal-data.ts';
import { isFailure } from '../../kernel/failure.ts';
import type { AnswerRule } from './guarded-text.ts';
import { GuardedText } from './guarded-text.ts';
import { MaskBook } from './mask-book.ts';

const check = await personalData(['email', 'card'], []);
const text = 'To jo@ex\u200bample.org 😀 or 4111 1111 1111 1111.';

function masking() {
  const found: string[] = [];
  const take = (_: Finding, value: string) => {
    found.push(value);
    return '<X>';
  };
  const rule: AnswerRule = { check, book: new MaskBook(), take, unread: () => null, passes: 'what is decided' };
  return { found, text: new GuardedText(rule) };
}

test('whatever the parts of a text, the same is found in it, and each part comes back', () => {
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second++) {
      const parts = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      const { found, text: filter } = masking();
      const passing = filter.parts();
      const passed = [...parts, null].map(passing).flatMap((some) => {
        assert.ok(!isFailure(some));
        return some;
      });
      assert.equal(passed.length, parts.length);
      assert.deepEqual(found, ['jo@ex\u200bample.org', '4111 1111 1111 1111']);
      assert.equal(passed.join('').replaceAll(/(<X>)+/g, '<X>'), 'To <X> 😀 or <X>.');
    }
  }
});

test('a long word that comes in single characters is not looked through for each of them', () => {
  const { text: filter } = masking();
  const startedMs = performance.now();
  let passed = '';
  for (let at = 0; at < 20_000; at++) passed += filter.push('a');
  passed += filter.end();
  assert.equal(passed, 'a'.repeat(20_000));
  assertWithin(performance.now() - startedMs, 1_000);
});
