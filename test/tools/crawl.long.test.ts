import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Failure, isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { robotsCode } from '../../src/tools/crawl/crawl-store.ts';
import type { CrawlsParts } from '../../src/tools/crawl/crawls.ts';
import { readCrawl } from '../../src/tools/crawl/read-crawl-options.ts';
import { ToolFields } from '../../src/tools/tool-fields.ts';
import {
  crawled,
  crawlsOver,
  ended,
  optionsOf,
  origin,
  owner,
  pathOf,
  type Site,
  siteReader,
  storeIn,
} from './crawl-site.ts';

test('a crawl reads a site once, by whatever addresses its pages are linked', async (t) => {
  const { crawl, read, counted, results } = await crawled(t, {
    '/': {
      links: ['/a', '/a#part', '/a?utm_source=x', '/b/', '/b', 'HTTPS://SITE.TEST:443/a', '/c?y=1&x=2', '/c?x=2&y=1'],
    },
    '/a': { links: ['/', '/b', 'mailto:x@y', 'https://elsewhere.test/', '/logo.png'] },
    '/b/': { links: ['/a'] },
    '/c?x=2&y=1': {},
  });
  assert.deepEqual(read.toSorted(), ['/', '/a', '/b/', '/c?x=2&y=1']);
  assert.deepEqual([crawl.status, crawl.done, crawl.failed, crawl.waiting, crawl.charged], ['completed', 4, 0, 0, 4]);
  assert.equal(counted.got, 4);
  assert.deepEqual(
    Object.keys(results[0]!.page).sort(),
    ['markdown', 'metadata', 'warnings'],
    'only what was asked for',
  );
});

test('a crawl stops at its limit, and goes no deeper than it may', async (t) => {
  const site: Site = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [at === 0 ? '/' : `/p${at}`, { links: [`/p${at + 1}`, `/q${at}`] }]),
  );
  const limited = await crawled(t, site, { limit: 5, maxDiscoveryDepth: 50 });
  assert.deepEqual([limited.crawl.status, limited.read.length, limited.counted.got], ['completed', 5, 5]);
  const shallow = await crawled(t, site, { maxDiscoveryDepth: 1 });
  assert.deepEqual(shallow.read.toSorted(), ['/', '/p1', '/q0']);
});

test('only what lies below the first page is read, unless the whole domain, subdomains or others are asked for', async (t) => {
  const links = [
    '/docs/a',
    '/blog',
    'https://sub.site.test/',
    'https://elsewhere.test/',
    'https://www.site.test/docs/w',
  ];
  const site: Site = { '/docs/': { links } };
  const of = async (body: JsonObject) => {
    const store = storeIn(t);
    const read: string[] = [];
    const crawls = crawlsOver(t, store, { reader: siteReader(site, read) });
    await crawls.start();
    const created = await crawls.create(owner, [`${origin}/docs/`], optionsOf({ sitemap: 'skip', ...body }));
    assert.ok(created !== 'full');
    await ended(store, created.id);
    await crawls.stop();
    return read.toSorted();
  };
  const below = ['/docs/', '/docs/a', 'https://www.site.test/docs/w'];
  assert.deepEqual(await of({}), below);
  assert.deepEqual(await of({ crawlEntireDomain: true }), ['/blog', ...below]);
  assert.deepEqual(await of({ allowSubdomains: true }), [...below.slice(0, 2), 'https://sub.site.test/', below[2]]);
  assert.deepEqual(await of({ allowExternalLinks: true }), [
    ...below.slice(0, 2),
    'https://elsewhere.test/',
    'https://sub.site.test/',
    below[2],
  ]);
});

test('paths are included and excluded by regular expression, the first page aside', async (t) => {
  const site: Site = { '/': { links: ['/blog/1', '/blog/2', '/blog/drafts/3', '/shop'] } };
  const { read } = await crawled(t, site, { includePaths: ['^/blog/'], excludePaths: ['drafts'] });
  assert.deepEqual(read.toSorted(), ['/', '/blog/1', '/blog/2']);
  const whole = await crawled(t, site, { includePaths: ['site\\.test/shop$'], regexOnFullURL: true });
  assert.deepEqual(whole.read.toSorted(), ['/', '/shop']);
});

test('F25: patterns that take too long are stopped, and the crawl says so', async (t) => {
  const { crawl } = await crawled(
    t,
    { '/': { links: Array.from({ length: 100 }, (_, at) => `/${'ab'.repeat(700)}${at}!`) } },
    { excludePaths: ['(a?b?){300}[c-z]$'] },
    {},
    1,
  );
  assert.equal(crawl.status, 'failed');
  assert.match(crawl.error ?? '', /includePaths or excludePaths take too long/);
});

test('F59: one bad page never fails a crawl, and costs nothing', async (t) => {
  const refused: Failure = { kind: 'page-refused', code: 'page_timeout', message: 'It took too long.', param: null };
  const { crawl, errors, counted, paths } = await crawled(t, {
    '/': { links: ['/hangs', '/gone', '/good', '/moved'] },
    '/hangs': refused,
    '/gone': { status: 404, text: 'no', links: ['/never'] },
    '/good': {},
    '/moved': { movedTo: 'https://elsewhere.test/' },
  });
  assert.deepEqual([crawl.status, crawl.done, crawl.failed, counted.got], ['completed', 3, 2, 3]);
  assert.deepEqual(paths.toSorted(), ['/', '/gone', '/good']);
  assert.deepEqual(errors.map(({ url, code }) => [pathOf(url), code]).toSorted(), [
    ['/hangs', 'PAGE_TIMEOUT'],
    ['/moved', 'REDIRECTED_OUTSIDE'],
  ]);
});

test('F59: calendars, growing paths and filters are left after a while', async (t) => {
  const reader = siteReader({});
  const read: string[] = [];
  const endless: CrawlsParts['reader'] = {
    ...reader,
    async read(order) {
      const url = new URL(order.url);
      read.push(url.pathname + url.search);
      const month = Number(url.searchParams.get('month') ?? 0) + 1;
      const links = [
        `/calendar?year=${2_000 + month}&month=${month}`,
        `${url.pathname.replace(/\/$/, '')}/loop`,
        `/shop?color=${month}&size=${read.length}&sort=${read.length}`,
      ];
      const page = await reader.read(order);
      if (isFailure(page)) return page;
      const metadata = { ...page.metadata, statusCode: 200 };
      return { ...page, metadata, markdown: `page ${url.href}`, links: links.map((link) => new URL(link, url).href) };
    },
  };
  const { crawl } = await crawled(t, {}, { limit: 1_000, maxDiscoveryDepth: 50 }, { reader: endless });
  assert.equal(crawl.status, 'completed');
  const count = (start: string) => read.filter((path) => path.startsWith(start)).length;
  assert.ok(
    count('/calendar?') <= 50 && count('/shop?') <= 50 && count('/loop') <= 2,
    JSON.stringify([count('/calendar?'), count('/shop?'), count('/loop')]),
  );
});

test('pages of the same words, and those that redirects have led to, are kept once', async (t) => {
  const { read, paths } = await crawled(
    t,
    {
      '/': { links: ['/a', '/copy', '/old'] },
      '/a': { text: 'the same words' },
      '/copy': { text: 'the  same\nwords', links: ['/only-from-the-copy'] },
      '/old': { text: 'moved', movedTo: '/new', links: ['/new'] },
    },
    { maxConcurrency: 1 },
  );
  assert.deepEqual(read, ['/', '/a', '/copy', '/old']);
  assert.deepEqual(paths, ['/', '/a', '/old']);
});

test('a page that names another of the site as its original, which was read, is not kept beside it', async (t) => {
  const canonical = '/shoes';
  const site: Site = {
    '/': { links: ['/shoes', '/shoes?sort=price'], title: 'Shop' },
    '/shoes': { title: 'Shoes', text: 'shoes by name', canonical },
    '/shoes?sort=price': { title: 'Shoes', text: 'shoes by price', canonical, links: ['/boots'] },
    '/boots': { title: 'Boots', canonical: '/not-linked', text: 'boots' },
    '/not-linked': { title: 'Boots', text: 'boots, well' },
  };
  const { crawl, paths, read, counted } = await crawled(t, site, { maxConcurrency: 1, maxDiscoveryDepth: 9 });
  assert.deepEqual(paths, ['/', '/shoes', '/boots', '/not-linked'], 'its links are followed, and so is the original');
  assert.ok(read.includes('/shoes?sort=price'));
  assert.deepEqual([crawl.status, crawl.done, crawl.failed, crawl.waiting], ['completed', 4, 0, 0]);
  assert.equal(counted.got, 5, 'it was read, and is paid');
});

test('an original is a hint: another title, an error, another site and the page itself are not believed', async (t) => {
  const site: Site = {
    '/': { links: ['/gone', 'https://elsewhere.test/b', '/a', '/b', '/c', '/d', '/e'], title: 'Shop' },
    // Redirects of sites whose pages all point home.
    '/a': { title: 'A', canonical: '/' },
    '/b': { title: 'B', canonical: 'https://elsewhere.test/b' },
    'https://elsewhere.test/b': { title: 'B', text: 'Their b' },
    '/c': { title: null, canonical: '/gone' },
    '/gone': { status: 404, text: 'not here' },
    '/d': { title: 'D', canonical: '/d?' },
    '/e': { title: 'E', canonical: 'javascript:void(0)' },
  };
  const { paths } = await crawled(t, site, { maxConcurrency: 1, allowExternalLinks: true });
  assert.deepEqual(paths, ['/', '/gone', 'https://elsewhere.test/b', '/a', '/b', '/c', '/d', '/e']);
});

test('robots.txt is obeyed, its pages are named and cost nothing; who says so goes on without it', async (t) => {
  const site: Site = { '/': { links: ['/open', '/closed'] } };
  const files: CrawlsParts['files'] = {
    robots: async () => ({ allows: ({ pathname }) => pathname !== '/closed', crawlDelayMs: null, sitemaps: [] }),
    file: async () => null,
  };
  const obeyed = await crawled(t, site, {}, { files });
  assert.deepEqual(obeyed.read.toSorted(), ['/', '/open']);
  assert.deepEqual(
    obeyed.errors.map(({ url, code }) => [pathOf(url), code]),
    [['/closed', robotsCode]],
  );
  assert.deepEqual([obeyed.crawl.charged, obeyed.counted.got], [2, 2]);
  const ignored = await crawled(t, site, { ignoreRobotsTxt: true }, { files });
  assert.deepEqual(ignored.read.toSorted(), ['/', '/closed', '/open']);
});

test('robots.txt of the place is asked wherever a redirect leads, before it is followed', async (t) => {
  const site: Site = {
    '/': { links: ['/to-closed', '/to-open', '/to-elsewhere'] },
    '/to-closed': { movedTo: '/closed' },
    '/to-open': { movedTo: '/open' },
    '/to-elsewhere': { movedTo: 'https://elsewhere.test/closed' },
  };
  const asked: string[] = [];
  const files: CrawlsParts['files'] = {
    robots: async ({ origin: of, pathname }) => ({
      allows: () => {
        asked.push(pathOf(of + pathname));
        return pathname !== '/closed';
      },
      crawlDelayMs: null,
      sitemaps: [],
    }),
    file: async () => null,
  };
  const { crawl, errors, counted, paths } = await crawled(t, site, { allowExternalLinks: true }, { files });
  assert.deepEqual(paths.toSorted(), ['/', '/to-open']);
  assert.ok(asked.includes('https://elsewhere.test/closed') && asked.includes('/open'));
  assert.deepEqual(errors.map(({ url, code }) => [pathOf(url), code]).toSorted(), [
    ['/to-closed', robotsCode],
    ['/to-elsewhere', robotsCode],
  ]);
  assert.match(errors[0]!.error, /^It redirects to https:.*\/closed, which robots\.txt there disallows\.$/);
  assert.deepEqual([crawl.charged, counted.got], [2, 2], 'and costs nothing');
  const ignored = await crawled(t, site, { ignoreRobotsTxt: true, allowExternalLinks: true }, { files });
  assert.deepEqual(ignored.paths.toSorted(), ['/', '/to-closed', '/to-elsewhere', '/to-open']);
});

test('the pace is the slowest that the caller, the configuration and robots.txt ask for', async (t) => {
  const files: CrawlsParts['files'] = {
    robots: async ({ pathname }) => ({
      allows: () => true,
      crawlDelayMs: pathname === '/slow' ? 7_000 : null,
      sitemaps: [],
    }),
    file: async () => null,
  };
  const delays: [string, number][] = [];
  const turns: CrawlsParts['turns'] = {
    take({ host, delayMs }, _signal, work) {
      delays.push([host, delayMs]);
      return work();
    },
  };
  await crawled(t, { '/': { links: ['/slow'] } }, { delay: 2 }, { files, turns });
  assert.deepEqual(delays, [
    ['site.test', 2_000],
    ['site.test', 7_000],
  ]);
  const strict = { pagesMax: 50, delayMs: 500, concurrencyMax: 3 };
  const asked = new ToolFields({ url: origin, delay: 0.1, maxConcurrency: 99, limit: 1_000 });
  const { options, warnings } = readCrawl(asked, strict);
  assert.deepEqual([options.delayMs, options.maxConcurrency, options.limit], [500, 3, 50]);
  assert.match(warnings.join(' '), /'limit' is at most 50 .*'maxConcurrency' is at most 3/);
});

test('sitemaps are read: of robots.txt, through an index, packed; broken ones and bombs give what they can', async (t) => {
  const loc = (path: string) => `<loc>${origin}${path}</loc>`;
  const urls = (...paths: string[]) => `<urlset>${paths.map((path) => `<url>${loc(path)}</url>`).join('')}`;
  const served: Record<string, Uint8Array> = {
    '/index.xml': Buffer.from(
      `<sitemapindex>${['/packed.xml.gz', '/bomb.xml.gz', '/broken.xml', '/index.xml', '/lines.txt'].map((path) => `<sitemap>${loc(path)}</sitemap>`).join('')}</sitemapindex>`,
    ),
    '/packed.xml.gz': gzipSync(`${urls('/packed')}</urlset>`),
    '/bomb.xml.gz': gzipSync(Buffer.alloc(40 * 1024 * 1024)),
    '/broken.xml': Buffer.from(`${urls('/broken', '/docs')}<url><loc>${origin}/cut`),
    '/lines.txt': Buffer.from(`${origin}/line\nnot a url\nhttps://elsewhere.test/\n`),
  };
  const files: CrawlsParts['files'] = {
    robots: async () => ({ allows: () => true, crawlDelayMs: null, sitemaps: [`${origin}/index.xml`] }),
    file: async (_tenant, url) => served[pathOf(url)] ?? null,
  };
  const site: Site = { '/': { links: ['/linked'] } };
  const included = await crawled(t, site, {}, { files });
  assert.deepEqual(included.read.toSorted(), ['/', '/broken', '/docs', '/line', '/linked', '/packed']);
  const only = await crawled(t, site, { sitemap: 'only' }, { files });
  assert.deepEqual(only.read.toSorted(), ['/', '/broken', '/docs', '/line', '/packed']);
  const skipped = await crawled(t, site, { sitemap: 'skip' }, { files });
  assert.deepEqual(skipped.read.toSorted(), ['/', '/linked']);
});
