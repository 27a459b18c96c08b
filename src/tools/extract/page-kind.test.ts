import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageKindOf } from './page-kind.ts';

test('a page without a type is HTML if it begins like it, and source is text', () => {
  const kindOf = (text: string, contentType = '') => pageKindOf(contentType, Buffer.from(text));
  for (const page of ['<title>A</title><p>b', ' <H1 class="x">A', '<meta charset="utf-8">', '<div>a</div>', '<p>a']) {
    assert.equal(kindOf(page), 'html', page);
  }
  for (const source of ['<script setup>', '<template>', '<article>', '<pre', '<abc>', 'a < b']) {
    assert.equal(kindOf(source), 'text', source);
  }
  assert.equal(kindOf('<p>a', 'text/plain'), 'text');
  assert.equal(kindOf('<p>a', 'application/octet-stream'), 'text');
});
