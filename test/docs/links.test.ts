import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pages, root } from './snippets.ts';

const documents = [...pages, 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const prose = (file: string) => readFileSync(join(root, file), 'utf8').replace(/^```[\s\S]*?^```$/gm, '');

/** Of headings, as GitHub makes them. */
function anchorsOf(file: string): Set<string> {
  const headings = [...prose(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
  assert.equal(new Set(headings).size, headings.length, `${file} has two headings with one anchor`);
  return new Set([...headings, ...[...prose(file).matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!)]);
}

test('every link between pages leads to a file and a heading that are there', () => {
  const dead: string[] = [];
  for (const page of documents) {
    for (const [, to] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(to!)) continue;
      const [path, anchor] = to!.split('#');
      const file = path === '' ? page : join(dirname(page), path!);
      if (!existsSync(join(root, file))) dead.push(`${page}: ${to}`);
      else if (anchor !== undefined && !anchorsOf(file).has(anchor)) dead.push(`${page}: ${to}`);
    }
  }
  assert.deepEqual(dead, []);
});

test('every page of docs/ stands in the table of contents, from which the site has its sidebar', () => {
  const listed = [...prose('docs/README.md').matchAll(/^- \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, page]) => page);
  const there = globSync('*.md', { cwd: join(root, 'docs') }).filter((page) => page !== 'README.md');
  assert.deepEqual([...listed].sort(), there.sort());
});
