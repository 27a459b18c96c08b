import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { Firecrawl } from 'firecrawl';
import { otherKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';
import { until } from '../until.ts';

/* Firecrawl's SDK, both of its APIs, with the gateway's root as its address and with our own prefix. */

const sitemap = (urls: readonly string[]) =>
  `<?xml version="1.0"?><urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;
/** Types of the messages of webhooks, by the query of their address. */
const events: Record<string, string[]> = {};
const site = await startAwkwardSite(
  { after },
  {
    '/hook': (response, { search }) =>
      void json(response.req).then((message) => {
        events[search] = [...(events[search] ?? []), (message as { type: string }).type];
        response.writeHead(204).end();
      }),
    '/sitemap.xml': (response) =>
      response.writeHead(200, { 'content-type': 'application/xml' }).end(sitemap([`${site.url}/from-sitemap`])),
  },
);
const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  {
    ...overUpstreams(upstream.url),
    fetch: { allow_private: [site.place] },
    tools: { crawl: { delay: '0ms' } },
    plans: { default: { windows: { '5h': 'off', week: 'off', month: 1_000 }, rpm: 'off', concurrency: 20 } },
  },
);
const clientAt = (apiUrl: string, apiKey = gateway.key) => new Firecrawl({ apiKey, apiUrl, maxRetries: 1 });
const atRoot = clientAt(gateway.url);
const stranger = clientAt(gateway.url, otherKey);
const addresses = { root: atRoot, '/v1/tools': clientAt(`${gateway.url}/v1/tools`) };

interface SdkError extends Error {
  status?: number;
  statusCode?: number;
  code?: string;
}

const failsWith = (status: number, message: RegExp) => (error: SdkError) => {
  assert.equal(error.status ?? error.statusCode, status);
  assert.match(error.message, message);
  return true;
};

for (const [at, firecrawl] of Object.entries(addresses)) {
  test(`Firecrawl’s SDK scrapes a page (${at})`, async () => {
    const page = await firecrawl.scrape(`${site.url}/article`, {
      formats: ['markdown', 'links', 'html'],
      timeout: 60_000,
    });
    assert.match(page.markdown!, /^# An article\n\nIt has \*\*words\*\*/);
    assert.deepEqual(page.links, [`${site.url}/elsewhere`, `${site.url}/next`]);
    assert.equal(page.metadata?.title, 'An article');
    assert.equal(page.metadata?.statusCode, 200);
    assert.equal(page.metadata?.ogImage, 'https://img.example/1.png');
    assert.equal(page.warning, undefined);
  });

  test(`Firecrawl’s SDK has pictures, attributes, a summary and JSON of a page (${at})`, async () => {
    const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
    const page = await firecrawl.scrape(`${site.url}/article`, {
      formats: [
        'images',
        'summary',
        { type: 'json', prompt: 'Its title', schema },
        { type: 'attributes', selectors: [{ selector: 'a', attribute: 'href' }] },
      ],
    });
    assert.deepEqual(page.images, ['https://img.example/1.png']);
    assert.deepEqual(page.attributes, [{ selector: 'a', attribute: 'href', values: ['/elsewhere', 'next'] }]);
    assert.ok(page.summary!.length > 0);
    assert.equal(typeof (page.json as { title: string }).title, 'string');
    assert.equal(page.metadata?.model, 'chat');
    assert.equal(page.warning, undefined);
  });

  test(`Firecrawl’s SDK says why a page is refused (${at})`, async () => {
    await assert.rejects(firecrawl.scrape('http://10.0.0.1/'), (error: SdkError) => {
      assert.equal(error.code, 'url_blocked');
      return failsWith(400, /^The page cannot be fetched .*not on the public Internet/)(error);
    });
  });

  test(`Firecrawl’s SDK maps a site by its page and its sitemap (${at})`, async () => {
    const { links } = await firecrawl.map(`${site.url}/article`, { limit: 10 });
    assert.deepEqual(
      links.map(({ url }) => url.replace(site.url, '')),
      ['/article', '/from-sitemap', '/elsewhere', '/next'],
    );
    assert.equal(links[0]?.title, 'An article');
  });

  test(`Firecrawl’s SDK crawls a site, and asks how far it is (${at})`, async () => {
    const { id } = await firecrawl.startCrawl(`${site.url}/article`, { limit: 3, sitemap: 'skip' });
    assert.ok((await firecrawl.getActiveCrawls()).success);
    const crawl = await firecrawl.crawl(`${site.url}/article`, { limit: 1, sitemap: 'skip', pollInterval: 1 });
    assert.deepEqual([crawl.status, crawl.completed, crawl.data[0]?.metadata?.title], ['completed', 1, 'An article']);
    assert.ok(['scraping', 'completed'].includes((await firecrawl.getCrawlStatus(id)).status));
    assert.deepEqual(await firecrawl.getCrawlErrors(crawl.id!), { errors: [], robotsBlocked: [] });
  });

  test(`Firecrawl’s SDK scrapes a batch of pages, and hears of those that failed (${at})`, async () => {
    const urls = [
      `${site.url}/article`,
      `${site.url}/half?${at}`,
      'http://10.0.0.1/',
      'ftp://nowhere',
      `${site.url}/404`,
    ];
    const begun = await firecrawl.startBatchScrape(urls, { options: { formats: ['markdown'] } });
    assert.deepEqual(begun.invalidURLs, ['ftp://nowhere']);
    const batch = await waited(firecrawl, begun.id);
    assert.deepEqual([batch.status, batch.total, batch.completed, batch.creditsUsed], ['completed', 4, 2, 2]);
    const pages = batch.data.map(({ metadata }) => [metadata?.sourceURL, metadata?.statusCode]);
    assert.deepEqual(
      pages.toSorted(),
      [
        [urls[4], 404],
        [urls[0], 200],
      ].toSorted(),
    );
    const { errors } = await firecrawl.getBatchScrapeErrors(begun.id);
    assert.deepEqual(errors.map(({ url, code }) => [url, code]).toSorted(), [
      ['http://10.0.0.1/', 'URL_BLOCKED'],
      [urls[1], 'PAGE_BROKEN'],
    ]);
  });

  test(`Firecrawl’s SDK watches a batch to its end (${at})`, async () => {
    const { id } = await firecrawl.startBatchScrape([`${site.url}/article`, `${site.url}/text`]);
    const watcher = firecrawl.watcher(id, { kind: 'batch', pollInterval: 1, timeout: 30 });
    const done = new Promise<{ status: string; data: unknown[] }>((resolve) => watcher.on('done', resolve));
    await watcher.start();
    const { status, data } = await done;
    assert.deepEqual([status, data.length], ['completed', 2]);
  });
}

async function waited(firecrawl: Firecrawl, id: string) {
  for (;;) {
    const job = await firecrawl.getBatchScrapeStatus(id);
    if (job.status !== 'scraping') return job;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('Firecrawl’s SDK cancels crawls and batches; nobody else sees them', async () => {
  const crawl = await atRoot.startCrawl(`${site.url}/silent`, { limit: 3 });
  const batch = await atRoot.startBatchScrape([`${site.url}/silent`, `${site.url}/article`]);
  assert.match(batch.id, /^batch_/);
  await assert.rejects(stranger.getBatchScrapeStatus(batch.id), failsWith(404, /none with this id/));
  await assert.rejects(stranger.cancelBatchScrape(batch.id), failsWith(404, /none with this id/));
  await assert.rejects(stranger.getBatchScrapeErrors(batch.id), failsWith(404, /none with this id/));
  await assert.rejects(atRoot.getCrawlStatus(batch.id), failsWith(404, /none with this id/));
  const { crawls } = await atRoot.getActiveCrawls();
  assert.ok(crawls.some(({ id }) => id === crawl.id) && crawls.every(({ id }) => id.startsWith('crawl_')));
  assert.equal((await stranger.getActiveCrawls()).crawls.length, 0);
  assert.ok((await atRoot.getQueueStatus()).waitingJobsInQueue >= 2);
  assert.equal(await atRoot.cancelCrawl(crawl.id), true);
  assert.equal(await atRoot.cancelBatchScrape(batch.id), true);
  assert.equal((await atRoot.getBatchScrapeStatus(batch.id)).status, 'cancelled');
});

test('a batch is refused in words: nothing to read, too much, what is not supported', async () => {
  const begin = (body: object) => gateway.fetch('/v2/batch/scrape', { json: body });
  const tooMany = Array.from({ length: 1_001 }, (_, at) => `${site.url}/${at}`);
  const cases = [
    [{}, 400, /^'urls' holds no http/],
    [{ urls: 'x' }, 400, /^'urls' must be an array/],
    [{ urls: ['ftp://x'], ignoreInvalidURLs: false }, 400, /^'urls\[0\]' must be the http or https address/],
    [{ urls: tooMany }, 400, /^'urls' must be an array of at most 1000/],
    [{ urls: [site.url], formats: ['nothing'] }, 400, /^'formats'/],
    [{ urls: [site.url], appendToId: 'batch_1' }, 501, /^'appendToId' is not supported/],
    [{ urls: [site.url], webhook: 'http://10.0.0.1/' }, 400, /^'webhook\.url' cannot be used/],
    [{ urls: [site.url], webhook: { url: site.url, events: ['page', 'gone'] } }, 400, /^'webhook\.events' must be/],
    [{ urls: [site.url], webhook: { url: site.url, events: 'page' } }, 400, /^'webhook\.events' must be/],
  ] as const;
  for (const [body, status, message] of cases) {
    const response = await begin(body);
    const answer = (await response.json()) as { success: boolean; error: string };
    assert.equal(response.status, status, JSON.stringify(answer));
    assert.equal(answer.success, false);
    assert.match(answer.error, message);
  }
});

test('a webhook hears of the events that it asks for, by Firecrawl’s names or by ours', async () => {
  const hook = (name: string, wanted: string[]) => ({ url: `${site.url}/hook?${name}`, events: wanted });
  const [crawl, batch] = await Promise.all([
    gateway.fetch('/v2/crawl', {
      json: { url: `${site.url}/article`, limit: 1, webhook: hook('crawl', ['crawl.completed', 'completed']) },
    }),
    gateway.fetch('/v2/batch/scrape', {
      json: { urls: [`${site.url}/article`], webhook: hook('batch', ['batch_scrape.page', 'completed']) },
    }),
  ]);
  assert.deepEqual([crawl.status, batch.status], [200, 200]);
  await until('both have ended', () => events['?crawl'] !== undefined && (events['?batch']?.length ?? 0) > 1);
  assert.deepEqual(events, {
    '?crawl': ['crawl.completed'],
    '?batch': ['batch_scrape.page', 'batch_scrape.completed'],
  });
});

test('Firecrawl’s SDK reads from the plan what is left of it', async () => {
  assert.deepEqual(await stranger.getConcurrency(), { concurrency: 0, maxConcurrency: 20 });
  // Of an account without any other work.
  await stranger.scrape(`${site.url}/article`, { formats: ['summary'] });
  const credits = await stranger.getCreditUsage();
  assert.equal(credits.planCredits, 1_000);
  assert.equal(credits.remainingCredits, 998, 'the page, and the chat call');
  assert.deepEqual([credits.billingPeriodStart, credits.billingPeriodEnd], [null, null]);
  const tokens = await stranger.getTokenUsage();
  assert.equal(tokens.remainingTokens, Number.MAX_SAFE_INTEGER, 'the plan has no limit of tokens');
  const { periods } = await stranger.getCreditUsageHistorical();
  assert.equal(periods[0]?.creditsUsed, 2);
  const [ofKey] = (await stranger.getCreditUsageHistorical(true)).periods;
  assert.match(ofKey?.apiKey ?? '', /other\/test/);
  assert.ok((await stranger.getTokenUsageHistorical()).periods[0]!.tokensUsed > 0, 'of summary and json');
});

test('Firecrawl’s SDK is told what to do instead of what is not served', async () => {
  const urls = [site.url];
  await assert.rejects(atRoot.startExtract({ urls, prompt: 'x' }), failsWith(501, /formats: \[\{"type": "json"/));
  await assert.rejects(atRoot.startAgent({ prompt: 'x' }), failsWith(501, /Agents are not supported/));
  await assert.rejects(atRoot.browser(), failsWith(501, /Browser sessions are not supported/));
  await assert.rejects(atRoot.crawlParamsPreview(site.url, 'x'), failsWith(501, /includePaths/));
  await assert.rejects(atRoot.v1.extract(urls, { prompt: 'x' }), /status code 501/);
});

test('Firecrawl’s errors are strings, for an unknown key and an unknown path too', async () => {
  await assert.rejects(
    clientAt(gateway.url, 'sk-cv-nobody').scrape(site.url),
    failsWith(401, /The API key is not valid/),
  );
  const response = await gateway.fetch('/v2/scrape/nothing');
  assert.equal(response.status, 404);
  assert.equal(typeof ((await response.json()) as { error: unknown }).error, 'string');
});

test('Firecrawl’s SDK of its first API scrapes, maps, crawls, searches and scrapes batches at the root', async () => {
  const { v1 } = atRoot;
  const ok = <T extends { success: boolean; error?: string }>(answer: T) => {
    assert.equal(answer.success, true, answer.error);
    return answer as T & { success: true };
  };
  const page = ok(await v1.scrapeUrl(`${site.url}/article`, { formats: ['markdown', 'links'] }));
  assert.match(page.markdown!, /^# An article/);
  assert.equal(page.metadata?.cacheState, 'miss', 'its pages are fetched unless it names an age');
  assert.deepEqual(ok(await v1.mapUrl(`${site.url}/article`, { ignoreSitemap: true })).links, [
    `${site.url}/article`,
    `${site.url}/elsewhere`,
    `${site.url}/next`,
  ]);
  const hits = ok(await v1.search('article words', { limit: 2 })).data;
  assert.equal(hits[0]?.url, `${site.url}/article`);
  const crawl = ok(await v1.crawlUrl(`${site.url}/article`, { limit: 1, ignoreSitemap: true }, 1));
  assert.deepEqual([crawl.status, crawl.data.length], ['completed', 1]);
  const begun = ok(await v1.asyncCrawlUrl(`${site.url}/silent`, { limit: 1 }));
  const running = ok(await v1.checkCrawlStatus(begun.id!));
  assert.ok(!Number.isNaN(new Date(running.expiresAt).getTime()), 'a date while it runs too');
  ok(await v1.cancelCrawl(begun.id!));
  const batch = ok(await v1.batchScrapeUrls([`${site.url}/article`], { formats: ['markdown'] }, 1));
  assert.deepEqual([batch.status, batch.data.length], ['completed', 1]);
  const credits = (await v1.getCreditUsage()) as { data: { plan_credits: number } };
  assert.equal(credits.data.plan_credits, 1_000);
});

test('a watcher’s WebSocket is closed in order, at the paths of crawls and batches alone', async () => {
  const closedBy = (path: string) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(gateway.url.replace('http', 'ws') + path, gateway.key);
      socket.onclose = ({ code }) => resolve(code);
    });
  const normal = 1_000;
  const broken = 1_006;
  assert.equal(await closedBy('/v2/batch/scrape/batch_1'), normal);
  assert.equal(await closedBy('/v1/tools/v1/crawl/crawl_1'), normal);
  assert.equal(await closedBy('/v1/chat/completions'), broken);
  assert.equal(await closedBy('/v2/crawl'), broken);
});
