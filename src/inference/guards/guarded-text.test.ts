import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding, Rule } from '../../guards/check.ts';
import { personalData } from '../../guards/checks/personal-data.ts';
import { isFailure } from '../../kernel/failure.ts';
import { GuardedText } from './guarded-text.ts';
import { MaskBook } from './mask-book.ts';

const check = await personalData(['email', 'card'], []);
const text = 'To jo@ex\u200bample.org 😀 or 4111 1111 1111 1111.';

const still = { book: new MaskBook(), unread: () => null, passes: 'what is decided' } as const;

function masking() {
  const found: string[] = [];
  const take = (_: Finding, value: string) => {
    found.push(value);
    return '<X>';
  };
  return { found, text: new GuardedText({ ...still, check, take }) };
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
  let looks = 0;
  const open = (_: string, from: number) => {
    looks += 1;
    return from;
  };
  const rule: Rule = { next: () => null, open, longest: 4_000 };
  const take = (_: Finding, value: string) => value;
  const filter = new GuardedText({ ...still, check: [rule], take });
  for (let at = 0; at < 4_000; at++) assert.equal(filter.push('a'), '');
  assert.equal(filter.end(), 'a'.repeat(4_000));
  assert.ok(looks < 200, String(looks));
});
