import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hooksOf } from './crawl-message.ts';
import type { CrawlEvent } from './crawl-options.ts';
import type { Crawl } from './crawl-store.ts';

/** A crawl whose webhook wants its pages. */
const crawl = {
  id: 'crawl-1',
  options: { kind: 'crawl', webhook: { events: ['page', 'completed'], metadata: { run: 7 } } },
} as unknown as Crawl;

/** A page with so much text, of three bytes a character. */
function pageOf(chars: number) {
  return { markdown: '€'.repeat(chars), metadata: { sourceURL: 'https://site.example/' } } as never;
}

function messageOf(event: CrawlEvent, facts: object = {}) {
  const [hook, ...more] = hooksOf(crawl, { event, ...facts }, 1_000);
  assert.deepEqual(more, []);
  assert.equal(hook?.createdMs, 1_000);
  return JSON.parse(hook?.body ?? 'null');
}

test('a page is announced whole, and one of more than 512 KB by its metadata alone', () => {
  const about = { success: true, id: 'crawl-1', metadata: { run: 7 } };
  const page = pageOf(100);
  assert.deepEqual(messageOf('page', { page }), { ...about, type: 'crawl.page', data: [page] });
  const long = messageOf('page', { page: pageOf(512 * 1024) });
  assert.deepEqual(long.data, [{ metadata: { sourceURL: 'https://site.example/' } }]);
  assert.equal(messageOf('page', { page: pageOf(500 * 1024) }).data[0].markdown.length, 500 * 1024);
});

test('an end has no pages, a failure says why, and what the webhook does not want is not sent', () => {
  assert.deepEqual(messageOf('completed').data, []);
  const failed = messageOf('page', { error: 'too slow' });
  assert.deepEqual([failed.success, failed.error], [false, 'too slow']);
  assert.deepEqual(hooksOf(crawl, { event: 'failed' }, 1), []);
});
