import assert from 'node:assert/strict';
import { test } from 'node:test';
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
