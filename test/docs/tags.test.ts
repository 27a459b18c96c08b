import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { lexer, type Token, walkTokens } from 'marked';
import { root } from './snippets.ts';

/* The site of docs/ is made of Vue's templates: a bare tag, such as </think> in a description, ends its build. */

const allowed = /^(<br>|<a id="[\w-]+">|<\/a>|<!--[\s\S]*-->\s*)$/;

/** Tags of a page that are no code. */
function tagsIn(text: string): string[] {
  const tags: string[] = [];
  walkTokens(lexer(text), (token: Token) => {
    if (token.type === 'html' && !allowed.test(token.raw.trim())) tags.push(token.raw.trim());
  });
  return tags;
}

test('no page of the site has a bare tag', () => {
  assert.deepEqual(tagsIn('| a | to </think>, and `</think>` |\n\n<!-- not run -->\nA<br>b'), ['</think>']);
  for (const page of globSync('docs/*.md', { cwd: root }))
    assert.deepEqual(tagsIn(readFileSync(`${root}/${page}`, 'utf8')), [], page);
});
