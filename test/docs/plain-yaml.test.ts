import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { checkConfigText } from '../../src/config/check.ts';
import { initialConfigText } from '../../src/config/init.ts';
import { pages, root, snippetsOf } from './snippets.ts';

/** As editors, linters and Kubernetes read it: nothing knows that `${NAME}` is a reference. */
function readsPlainly(text: string, where: string): void {
  assert.doesNotThrow(() => parse(text, { logLevel: 'error' }), where);
}

test('every YAML snippet of the pages is YAML for every tool', () => {
  let found = 0;
  for (const name of [...pages, ...globSync('docs/{design,decisions}/*.md', { cwd: root })]) {
    for (const { language, text, line } of snippetsOf(name)) {
      if (language !== 'yaml') continue;
      found++;
      readsPlainly(text, `${name}:${line}`);
    }
  }
  assert.ok(found > 50, `${found} snippets`);
});

test('inline pieces of YAML in the pages quote references between braces', () => {
  for (const name of pages) {
    const text = readFileSync(`${root}/${name}`, 'utf8');
    for (const [piece] of text.matchAll(/`[^`\n]*[{,] *[a-z_]+: *\$\{[^`\n]*`/g)) assert.fail(`${name}: ${piece}`);
  }
});

test('files of deploy/ are YAML for every tool', () => {
  for (const name of globSync('deploy/**/*.{yaml,yml}', { cwd: root })) {
    // Templates of Helm become YAML later.
    if (!name.includes('/templates/')) readsPlainly(readFileSync(`${root}/${name}`, 'utf8'), name);
  }
});

test('what init writes is YAML for every tool, with its examples in force, too', () => {
  const text = initialConfigText();
  readsPlainly(text, 'init');
  // An example is a comment that is indented, without the words of one.
  const examples = text.replace(/^( {2,})# ( *(?:- |"?[\w*-]+"?:))/gm, '$1$2');
  assert.ok(examples.includes('\n  openai: {') && examples.includes('\n      - { api_key: '));
  readsPlainly(examples, 'init with its examples');
  const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
  const values = Object.fromEntries(
    names
      .filter((name) => /KEY/.test(name))
      .map((name) => [name, `sk-cv-${name.replaceAll('_', '')}-${'x'.repeat(32)}`]),
  );
  const checked = checkConfigText(examples, 'culvert.yaml', values);
  assert.ok(checked.ok, JSON.stringify(checked));
});
