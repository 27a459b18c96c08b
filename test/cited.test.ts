import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/*
 * Comments and titles of tests cite the documents in docs/design by section and by row. A reader must find what they
 * cite.
 */

const documents = {
  design: readFileSync('docs/design/design.md', 'utf8'),
  faults: readFileSync('docs/design/faults.md', 'utf8'),
  clients: readFileSync('docs/design/clients.md', 'utf8'),
};
const sections = (text: string) => new Set([...text.matchAll(/^## (\w+)\./gm)].map(([, name]) => name!));
/** Attacks are `S4` there and here; faults are `37` there and `F37` here. */
const rows = new Set([...documents.faults.matchAll(/^\| (S?\d+) \|/gm)].map(([, row]) => row!.replace(/^\d/, 'F$&')));

/** Cited names, with the places that have them. */
const kinds: { pattern: RegExp; known: ReadonlySet<string> }[] = [
  { pattern: /\bdesign(?:\.md)? §(\d+)/g, known: sections(documents.design) },
  { pattern: /\bclients\.md §(\d+\w?)/g, known: sections(documents.clients) },
  { pattern: /\bfaults\.md ([SF]\d+)/g, known: rows },
  // The beginning of a test's title.
  { pattern: /\btest\(\s*['`]([SF]\d+)\b/g, known: rows },
];

const files = globSync(['{src,test,bench,scripts}/**/*.{ts,mjs}', 'docs/*.md', 'docs/decisions/*.md', '*.md']);

test('what comments and titles cite stands in docs/design', () => {
  const lost: string[] = [];
  let found = 0;
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const { pattern, known } of kinds) {
      for (const [cited, name] of text.matchAll(pattern)) {
        found += 1;
        if (!known.has(name!)) lost.push(`${file}: ${cited}`);
      }
    }
  }
  assert.ok(found > 300, `${found} citations`);
  assert.deepEqual(lost, []);
});

test('documents of the design link to files that are there', () => {
  for (const [name, text] of Object.entries(documents)) {
    for (const [, to] of text.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.ok(globSync(`docs/design/${to}`).length > 0, `${name}.md: ${to}`);
    }
  }
});
