import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageOrder } from '../page-reader.ts';
import type { ScrapedPage, ScrapeOptions } from '../scrape/scraped-page.ts';
import { scrapeHits } from './search-tool.ts';

const options: ScrapeOptions = {
  formats: ['markdown'],
  onlyMainContent: true,
  includeTags: null,
  excludeTags: null,
  waitForMs: 0,
  render: 'never',
  headers: {},
  timeoutMs: 30_000,
  maxAgeMs: 0,
  mobile: false,
  maxBytes: null,
};

function page(url: string, markdown: string): ScrapedPage {
  return {
    markdown,
    metadata: {
      title: 'A',
      description: null,
      language: null,
      sourceURL: url,
      url,
      statusCode: 200,
      contentType: 'text/html',
      cacheState: 'miss',
      renderer: 'none',
      canonical: null,
      published: null,
      og: {},
    },
    warnings: [],
  };
}

const hits = Array.from({ length: 10 }, (_, at) => ({ url: `https://a.example/${at}` }));
const order = {
  tenant: 'acme/laptop',
  keyId: 'key_1',
  options,
  leftMs: () => 5_000,
  signal: new AbortController().signal,
};

test('pages come in the order of the hits, four at a time, each in what time is left', async () => {
  const orders: PageOrder[] = [];
  let running = 0;
  let most = 0;
  const reader = {
    async read(order: PageOrder) {
      orders.push(order);
      most = Math.max(most, ++running);
      // The first ones end last.
      for (let turns = 20 - orders.length; turns > 0; turns--) await new Promise(setImmediate);
      running--;
      return page(order.url, `words of ${order.url}`);
    },
  };
  const { pages, read, warnings } = await scrapeHits(reader, hits, order);
  assert.deepEqual(
    pages.map(({ markdown }) => markdown),
    hits.map(({ url }) => `words of ${url}`),
  );
  assert.deepEqual([most, read, warnings], [4, 10, []]);
  assert.deepEqual([orders[0]!.tenant, orders[0]!.options.timeoutMs, orders[0]!.paced], ['acme/laptop', 5_000, false]);
});

test('a page that fails is a hit without content, and costs nothing', async () => {
  const reader = {
    read: async ({ url }: PageOrder) =>
      url.endsWith('3') ? ({ kind: 'request-timeout', message: 'It took too long.' } as const) : page(url, 'words'),
  };
  const { pages, read, warnings } = await scrapeHits(reader, hits, order);
  assert.deepEqual(pages[3], {
    metadata: { sourceURL: 'https://a.example/3', url: 'https://a.example/3', error: 'It took too long.' },
  });
  assert.deepEqual([read, warnings], [9, ['1 of 10 pages could not be given. Their metadata.error says why.']]);
});

test('without time, or when nobody waits, no page is read', async () => {
  const reader = { read: () => assert.fail('nothing is asked for') };
  assert.equal((await scrapeHits(reader, hits, { ...order, leftMs: () => 0 })).read, 0);
  assert.equal((await scrapeHits(reader, hits, { ...order, signal: AbortSignal.abort() })).read, 0);
});

test('an answer holds 16 million characters of pages, and says what it left out', async () => {
  const reader = { read: async ({ url }: PageOrder) => page(url, 'x'.repeat(3_000_000)) };
  const { pages, read, warnings } = await scrapeHits(reader, hits, order);
  assert.equal(pages.filter(({ markdown }) => markdown !== undefined).length, 5);
  assert.equal(read, 5);
  assert.match(warnings.join(' '), /5 of 10 pages.*fewer formats/);
});
