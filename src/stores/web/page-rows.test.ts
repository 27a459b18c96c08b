import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snippetOf } from './page-rows.ts';

test('a snippet is the place where most of the words stand', () => {
  const filler = 'nothing of interest here, '.repeat(40);
  const text = `An otter. ${filler} The otters of this river sleep. ${filler}`;
  assert.match(snippetOf(text, ['otter', 'river', 'sleeping']), /^… .*The otters of this river sleep\. .* …$/);
  assert.match(snippetOf(text, ['otter']), /^An otter\. nothing/);
  assert.equal(snippetOf('A short\n  text', ['giraffe']), 'A short text');
  assert.equal(snippetOf('', ['giraffe']), '');
});

test('a text of nothing but its words is looked at in a bounded time, and no character is cut in two', () => {
  const text = '\u{1F43C} otter '.repeat(12_000);
  const snippet = snippetOf(text, ['otter', 'panda', 'o']);
  assert.ok(snippet.length < 320 && snippet.isWellFormed());
});
