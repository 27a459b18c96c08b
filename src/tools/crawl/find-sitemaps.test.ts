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

const urlset = (count: number) => {
  const urls = Array.from(
    { length: count },
    (_, at) => `<url><loc>https://e.test/${at}</loc><priority>0.5</priority></url>`,
  );
  return Buffer.from(`<?xml version="1.0"?><urlset>${urls.join('')}</urlset>`);
};

test('a packed sitemap gives its first part where it is larger than is read, and where it is cut off', () => {
  const whole = urlset(1_000);
  assert.equal(readSitemap(gzipSync(whole), whole.length, 5_000).pages.length, 1_000);
  const half = readSitemap(gzipSync(whole), whole.length / 2, 5_000).pages;
  assert.ok(half.length > 400 && half.length < 600, `${half.length}`);
  const packed = gzipSync(whole);
  const cut = readSitemap(packed.subarray(0, packed.length / 2), whole.length, 5_000).pages;
  assert.deepEqual(
    cut,
    Array.from(cut, (_, at) => `https://e.test/${at}`),
  );
  assert.ok(cut.length > 100, `${cut.length}`);
  assert.deepEqual(readSitemap(gzipSync(Buffer.alloc(60_000_000)), 1_000, 10), { pages: [], sitemaps: [] });
});

test('a sitemap whose names have a prefix gives its addresses, and not those of its pictures', () => {
  const of = (prefix: string, picture: string) =>
    `<${prefix}urlset><${prefix}url><${picture}loc>https://e.test/p.png</${picture}loc><${prefix}loc>https://e.test/a</${prefix}loc></${prefix}url></${prefix}urlset>`;
  for (const text of [of('', 'image:'), of('ns0:', 'image:'), of('ns0:', '')])
    assert.deepEqual(readSitemap(Buffer.from(text), 1_000, 10).pages, ['https://e.test/a'], text);
});
