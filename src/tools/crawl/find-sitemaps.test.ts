import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { findInSitemaps } from './find-sitemaps.ts';
import { readSitemap } from './read-sitemap.ts';

/** Reads an index of so many sitemaps, each with one page; `endsAfter`: the signal comes after so many files. */
async function found(sitemaps: number, { urlsMax = 1_000, endsAfter = Number.POSITIVE_INFINITY } = {}) {
  const ending = new AbortController();
  let read = 0;
  const locs = Array.from({ length: sitemaps }, (_, at) => `<sitemap><loc>https://e.test/${at}.xml</loc></sitemap>`);
  const textOf = (url: string) =>
    url.endsWith('/sitemap.xml')
      ? `<sitemapindex>${locs.join('')}</sitemapindex>`
      : `<urlset><url><loc>${url.replace('.xml', '')}</loc></url></urlset>`;
  const { urls, cut } = await findInSitemaps('https://e.test/', {
    files: {
      robots: async () => ({ sitemaps: [] }) as never,
      async file(_tenant, url) {
        read += 1;
        if (read >= endsAfter) ending.abort();
        return Buffer.from(textOf(url));
      },
    },
    threads: {
      ask: async (_tenant: string, _kind: string, order: Record<string, never>) =>
        readSitemap(order.body!, order.bytesMax!, order.urlsMax!),
    } as never,
    tenant: 'a',
    signal: ending.signal,
    urlsMax,
  });
  return [urls.length, cut];
}

test('pages of sitemaps say why some are missing: too many files, or the time was over', async () => {
  assert.deepEqual(await found(19), [19, null]);
  assert.deepEqual(await found(20), [19, 'files']);
  assert.deepEqual(await found(500), [19, 'files']);
  assert.deepEqual(await found(19, { endsAfter: 5 }), [4, 'time']);
  // The caller wants no more.
  assert.deepEqual(await found(19, { urlsMax: 3 }), [3, null]);
});

test('a sitemap of lines gives its addresses, compressed or not, and none of its other lines', () => {
  const lines = ['https://e.test/a', '# pages', '', ' http://e.test/b ', '/c', 'ftp://e.test/d', 'https://e.test/e'];
  const text = Buffer.from(`\n${lines.join('\r\n')}`);
  const addresses = ['https://e.test/a', 'http://e.test/b', 'https://e.test/e'];
  for (const body of [text, gzipSync(text)]) {
    assert.deepEqual(readSitemap(body, 1_000, 100), { pages: addresses, sitemaps: [] });
    assert.deepEqual(readSitemap(body, 1_000, 2).pages, addresses.slice(0, 2));
  }
});
