import assert from 'node:assert/strict';
import test from 'node:test';
import { markedPages } from '../../../test/fixtures/marked-pages.ts';
import type { Extracted } from './extract-order.ts';
import { extractPage } from './extract-page.ts';

const leastShare = 0.95;

async function read(html: string): Promise<Extracted> {
  const reply = await extractPage({
    id: 1,
    kind: 'html',
    body: new Uint8Array(Buffer.from(html)),
    url: 'https://example.org/page',
    contentType: 'text/html; charset=utf-8',
    way: 'document',
    options: { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false },
  });
  assert.ok('extracted' in reply, JSON.stringify(reply).slice(0, 300));
  return reply.extracted;
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

for (const { name, html, main } of markedPages) {
  test(`of ${name}, its main text is given and little else`, async () => {
    const { text, markdown } = await read(html);
    const lines = linesOf(text);
    const found = main.filter((line) => lines.includes(line));
    const right = lines.filter((line) => main.includes(line));
    const missing = main.filter((line) => !lines.includes(line));
    const extra = lines.filter((line) => !main.includes(line));
    assert.ok(found.length / main.length >= leastShare, `missing: ${missing.join(' / ')}`);
    assert.ok(right.length / lines.length >= leastShare, `too much: ${extra.join(' / ')}`);
    assert.match(markdown, /^# A river and its town\n/);
  });
}
