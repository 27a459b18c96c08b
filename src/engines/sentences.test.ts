import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sentencesOf } from './sentences.ts';

test('sentences come one by one, short ones with the next, paragraphs apart', () => {
  assert.deepEqual(sentencesOf('The first sentence is here. The second one follows it! Is this the third of them?'), [
    'The first sentence is here.',
    'The second one follows it!',
    'Is this the third of them?',
  ]);
  assert.deepEqual(sentencesOf('Yes. No. But that is what everybody says.'), [
    'Yes. No. But that is what everybody says.',
  ]);
  assert.deepEqual(sentencesOf('A title\n\nThe text below the title.'), ['A title', 'The text below the title.']);
  assert.deepEqual(sentencesOf(' \n\n '), []);
});

test('a sentence without end is parted at commas, else between words', () => {
  const parts = sentencesOf(`${'word '.repeat(40)}, and then ${'more '.repeat(60)}`);
  assert.ok(parts.every((part) => part.length <= 300));
  assert.match(parts[0]!, /,$/);
});

test('whatever the text, nothing but blanks is lost and no part is longer than 300', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), (text) => {
      const parts = sentencesOf(text);
      assert.ok(parts.every((part) => part.length <= 300 && part.trim() === part && part !== ''));
      assert.equal(parts.join('').replace(/\s/g, ''), text.replace(/\s/g, ''));
    }),
  );
});
