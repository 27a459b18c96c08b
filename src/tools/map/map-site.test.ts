import assert from 'node:assert/strict';
import test from 'node:test';
import type { Failure } from '../../kernel/failure.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import { ToolFields } from '../tool-fields.ts';
import { readMapRequest } from './map-request.ts';
import { mapSite } from './map-site.ts';

const metadata = {
  title: 'Start',
  description: null,
  language: null,
  sourceURL: 'https://www.example.org/',
  url: 'https://www.example.org/',
  statusCode: 200,
  contentType: 'text/html',
  cacheState: 'miss',
  renderer: 'none',
  canonical: null,
  published: null,
  og: {},
} as const;

const refused: Failure = { kind: 'page-refused', code: 'page_unreachable', message: 'no', param: null };

interface Site {
  links?: readonly string[];
  sitemap?: readonly string[];
  cut?: 'time' | 'files';
  page?: Failure;
  warnings?: readonly string[];
}

async function map(asked: Record<string, unknown>, site: Site = {}) {
  const page: ScrapedPage = { links: site.links ?? [], metadata, warnings: site.warnings ?? [] };
  const reader = { read: async () => site.page ?? page, close: async () => undefined };
  const request = readMapRequest(new ToolFields({ url: metadata.url, ...asked } as never));
  const sitemapPages = async () => ({ urls: site.sitemap ?? [], cut: site.cut ?? null });
  return mapSite({ reader, sitemapPages }, request, 'tenant', new AbortController().signal);
}

async function urls(...args: Parameters<typeof map>): Promise<string[]> {
  const answer = await map(...args);
  assert.ok(answer.kind === 'answer', JSON.stringify(answer));
  return (answer.body.links as { url: string }[]).map(({ url }) => url.replace('https://www.example.org', ''));
}

const links = [
  '/a',
  '/a#part',
  '/b?x=1',
  '/b?x=2',
  'https://example.org/c',
  'https://other.org/d',
  'https://sub.example.org/e',
];

test('links of the page and of the sitemap are each given once, those of other sites not', async () => {
  assert.deepEqual(await urls({}, { links, sitemap: ['https://www.example.org/s', 'https://www.example.org/a/'] }), [
    '/',
    '/s',
    '/a/',
    '/b',
    'https://example.org/c',
    'https://sub.example.org/e',
  ]);
});

test('subdomains, queries, sitemap and limit are as the caller wishes', async () => {
  assert.deepEqual(await urls({ includeSubdomains: false, ignoreQueryParameters: false }, { links }), [
    '/',
    '/a',
    '/b?x=1',
    '/b?x=2',
    'https://example.org/c',
  ]);
  assert.deepEqual(await urls({ sitemap: 'only' }, { links, sitemap: ['/s'] }), ['/', '/s']);
  assert.deepEqual(await urls({ sitemap: 'skip' }, { links: ['/a'], sitemap: ['/s'] }), ['/', '/a']);
  assert.deepEqual(await urls({ limit: 2 }, { links }), ['/', '/a']);
});

test('what is searched for comes first', async () => {
  const found = await urls({ search: 'Pricing plans' }, { links: ['/about', '/plans', '/pricing-plans'] });
  assert.deepEqual(found, ['/pricing-plans', '/plans', '/', '/about']);
});

test('a page that cannot be read leaves its sitemap, with a warning; without one it is the answer', async () => {
  const answer = await map({}, { page: refused, sitemap: ['/s'] });
  assert.ok(answer.kind === 'answer');
  assert.match(answer.warnings[0]!, /could not be read/);
  assert.deepEqual(await map({}, { page: refused }), refused);
  const blocked: Failure = { ...refused, code: 'url_blocked' };
  assert.deepEqual(await map({}, { page: blocked, sitemap: ['/s'] }), blocked);
});

test('links that a bound may have cut off come with a warning', async () => {
  const warningsOf = async (site: Site) => {
    const answer = await map({}, { links: ['/a'], sitemap: ['/s'], ...site });
    assert.ok(answer.kind === 'answer');
    return answer.warnings;
  };
  assert.deepEqual(await warningsOf({}), []);
  assert.match((await warningsOf({ cut: 'time' }))[0]!, /^Time ran out before all sitemaps were read/);
  assert.match((await warningsOf({ cut: 'files' }))[0]!, /more sitemaps than are read/);
  const cut = 'The page was cut after 10 bytes.';
  assert.deepEqual(await warningsOf({ warnings: [cut] }), [cut]);
});
