import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mayHave, signatureOf } from './text-signature.ts';

test('a signature may have every part of its texts, whatever they are', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 3_000 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(texts, fc.nat(), fc.nat(40), (all, place, length) => {
      const text = all[place % all.length] ?? '';
      const at = text.length === 0 ? 0 : place % text.length;
      return mayHave(signatureOf(all), text.slice(at, at + length));
    }),
  );
});

test('it rules out nearly all words that a text lacks, and is small', () => {
  const texts = Array.from({ length: 300 }, (_, at) => `word${at} ${(at * 7_919).toString(36)} of the text`);
  const signature = signatureOf(texts);
  assert.ok(signature.length <= 2_048, String(signature.length));
  const absent = Array.from({ length: 2_000 }, (_, at) => `${((at + 1) * 104_729_000_003).toString(36)}`);
  const passed = absent.filter((word) => mayHave(signature, word)).length;
  assert.ok(passed < 20, `${passed} of 2000 may be there`);
  assert.equal(signatureOf([]).length, 64);
  assert.ok(mayHave(signature, 'of'), 'two letters rule out nothing');
});

test('a text with more parts than it has room for rules out nothing, in 8 KB', () => {
  const long = Array.from({ length: 200_000 }, (_, at) => String.fromCharCode(97 + ((at * at * 31) % 20_000))).join('');
  assert.ok(signatureOf([long]).length <= 8_192);
});
