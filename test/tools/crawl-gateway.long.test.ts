import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Firecrawl from 'firecrawl';
import { stringify } from 'yaml';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { listening } from '../listening.ts';
import { adminKey, otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startProcess, temporaryFolder } from '../start-process.ts';

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

interface LocalSite {
  url: string;
  /** For `fetch.allow_private`. */
  place: string;
  /** Pages that were asked for, in order. */
  asked: string[];
  /** Answered when it is let go. */
  hold: { path: string; until: Promise<void> } | null;
  /** Further words of a path's page. */
  words: Map<string, string>;
  /** Target of a path's redirect. */
  moved: Map<string, string>;
}

/** Pages of prose: `/` links to all others, `/9` is forbidden to robots, `/sitemap.xml` names one that nobody links. */
async function startSite(t: Pick<TestContext, 'after'>, pages = 8): Promise<LocalSite> {
  const site: LocalSite = { url: '', place: '', asked: [], hold: null, words: new Map(), moved: new Map() };
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '/';
      if (path === '/robots.txt') return response.end('User-agent: *\nDisallow: /forbidden\n');
      if (path === '/sitemap.xml') {
        return response.end(`<urlset><url><loc>${site.url}/only-in-the-sitemap</loc></url></urlset>`);
      }
      site.asked.push(path);
      if (site.hold?.path === path) await site.hold.until;
      const location = site.moved.get(path);
      if (location !== undefined) return response.writeHead(302, { location }).end();
      const links = Array.from({ length: pages }, (_, at) => `<a href="/${at + 1}">Page ${at + 1}</a>`).join(' ');
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        `<html><head><title>Page ${path}</title></head><body><main><h1>Page ${path}</h1>
         <p>This page stands at ${path} and says so at some length, as pages do which want to be read by somebody.</p>
         <p>${site.words.get(path) ?? ''}</p>
         <p>${links} <a href="/forbidden/x">Forbidden</a></p></main></body></html>`,
      );
    })();
  });
  site.place = new URL(await listening(t, server)).host;
  site.url = `http://${site.place}`;
  return site;
}

const crawlFast = { tools: { crawl: { delay: '0s' } } };

async function post(gateway: Pick<TestGateway, 'fetch'>, json: unknown, path = '/v1/tools/crawl') {
  const response = await gateway.fetch(path, { json });
  return { status: response.status, body: (await response.json()) as Body };
}

async function get(gateway: Pick<TestGateway, 'fetch'>, path: string, init: RequestInit = {}) {
  const response = await gateway.fetch(path, init);
  return { status: response.status, body: (await response.json()) as Body };
}

async function ended(gateway: Pick<TestGateway, 'fetch'>, id: string): Promise<Body> {
  for (;;) {
    const { body } = await get(gateway, `/v1/tools/crawl/${id}`);
    if (body.status !== 'scraping') return body;
    await pause(20);
  }
}

async function usedUnits(gateway: TestGateway): Promise<number> {
  return ((await get(gateway, '/v1/usage')).body as Body).windows.month.used;
}

test('a crawl follows no redirect to where robots.txt forbids it, of this site or of another', async (t) => {
  const site = await startSite(t);
  const other = await startSite(t);
  const gateway = await startGateway(t, { ...crawlFast, fetch: { allow_private: [site.place, other.place] } });
  for (const to of ['/forbidden/y', `${other.url}/forbidden/y`]) {
    site.moved.set('/moved', to);
    const { id } = (await post(gateway, { url: `${site.url}/moved`, sitemap: 'skip' })).body;
    const end = await ended(gateway, id);
    assert.deepEqual([end.status, end.completed, end.failed, end.creditsUsed], ['completed', 0, 1, 0]);
    const { body } = await get(gateway, `/v1/tools/crawl/${id}/errors`);
    assert.deepEqual(body.robotsBlocked, [`${site.url}/moved`]);
  }
  assert.deepEqual([site.asked, other.asked], [['/moved', '/moved'], []]);
  // A scrape of it by name goes there: a caller's scrape is not a robot.
  const scraped = await post(gateway, { url: `${site.url}/moved` }, '/v1/tools/scrape');
  assert.equal(scraped.body.data.metadata.url, `${other.url}/forbidden/y`);
});

test('a site is crawled over HTTP: pages by cursor, errors, list, a unit a page', async (t) => {
  const site = await startSite(t);
  const plans = { default: { windows: { month: 1_000 }, rpm: 'off' } };
  const gateway = await startGateway(t, { ...crawlFast, plans, fetch: { allow_private: [site.place] } });
  const begun = await post(gateway, { url: site.url, maxConcurrency: 4, wurst: 1 });
  assert.equal(begun.status, 200);
  const { id, url, warning } = begun.body;
  assert.equal(url, `${gateway.url}/v1/tools/crawl/${id}`);
  assert.match(warning, /wurst/);
  const end = await ended(gateway, id);
  assert.deepEqual(
    [end.status, end.completed, end.failed, end.total, end.creditsUsed, end.next, end.data.length],
    ['completed', 10, 1, 11, 10, null, 10],
  );
  assert.match(end.data[0].markdown, /^# Page \/\n\nThis page stands at \//);
  assert.equal(end.data[0].metadata.statusCode, 200);
  assert.equal(end.data[0].links, undefined);
  assert.ok(Date.parse(end.expiresAt) > Date.now());
  assert.equal(site.asked.length, 10, 'each page once');
  assert.equal(await usedUnits(gateway), 10);

  const first = await get(gateway, `/v1/tools/crawl/${id}?limit=4`);
  assert.equal(first.body.data.length, 4);
  assert.ok(first.body.next.startsWith(`${gateway.url}/v1/tools/crawl/${id}?cursor=`));
  const rest: Body[] = [...first.body.data];
  for (let next = first.body.next as string | null; next !== null; ) {
    const page = await get(gateway, next.slice(gateway.url.length));
    rest.push(...page.body.data);
    next = page.body.next;
  }
  assert.deepEqual(rest, end.data);

  const { body: errors } = await get(gateway, `/v1/tools/crawl/${id}/errors`);
  assert.deepEqual(errors, { success: true, errors: [], robotsBlocked: [`${site.url}/forbidden/x`] });
  const { body: list } = await get(gateway, '/v1/tools/crawl');
  assert.deepEqual(
    list.crawls.map((crawl: Body) => [crawl.id, crawl.status, crawl.url]),
    [[id, 'completed', `${site.url}/`]],
  );
  assert.deepEqual((await get(gateway, '/v1/tools/crawl/active')).body.crawls, []);
  assert.equal((await get(gateway, `/v1/tools/crawl/${id}`, { method: 'DELETE' })).status, 409);
  const theirs = { headers: { authorization: `Bearer ${otherKey}` } };
  for (const path of [`/${id}`, `/${id}/errors`]) {
    const { status, body } = await get(gateway, `/v1/tools/crawl${path}`, theirs);
    assert.deepEqual([status, body.success, body.error.code], [404, false, 404], 'another key sees nothing of it');
  }
});

test("Firecrawl's SDK crawls, pages, lists, cancels and reads errors", async (t) => {
  const site = await startSite(t);
  const gateway = await startGateway(t, { ...crawlFast, fetch: { allow_private: [site.place] } });
  const client = new Firecrawl({ apiKey: testKey, apiUrl: `${gateway.url}/v1/tools` });
  const job = await client.crawl(site.url, {
    limit: 3,
    scrapeOptions: { formats: ['markdown', 'links'] },
    pollInterval: 1,
  });
  assert.deepEqual([job.status, job.completed, job.data.length], ['completed', 3, 3]);
  assert.match(job.data[0]?.markdown ?? '', /^# Page/);
  assert.deepEqual(await client.getCrawlErrors(job.id), { errors: [], robotsBlocked: [] });
  let letGo = () => {};
  site.hold = { path: '/', until: new Promise((resolve) => (letGo = resolve)) };
  const begun = await client.startCrawl(site.url, { scrapeOptions: { maxAge: 0 } });
  assert.deepEqual(
    (await client.getActiveCrawls()).crawls.map((crawl) => crawl.id),
    [begun.id],
  );
  assert.equal(await client.cancelCrawl(begun.id), true);
  assert.equal((await client.getCrawlStatus(begun.id)).status, 'cancelled');
  letGo();
  await assert.rejects(client.startCrawl('http://169.254.169.254/'), /url_blocked/);
});

test('S17: addresses that are not public, of sites and of webhooks, are refused before anything is asked', async (t) => {
  const gateway = await startGateway(t);
  for (const url of ['http://169.254.169.254/', 'http://[::ffff:127.0.0.1]/', 'http://0x7f.1/', 'http://x.internal/']) {
    const { status, body } = await post(gateway, { url });
    assert.deepEqual([status, body.success, body.error.reason], [400, false, 'url_blocked'], url);
    const hook = await post(gateway, { url: 'https://93.184.216.34/', webhook: url });
    assert.deepEqual([hook.status, hook.body.error.param], [400, 'webhook.url'], url);
  }
  for (const url of ['file:///etc/passwd', 'gopher://x/', 'javascript:1', 7, '']) {
    assert.equal((await post(gateway, { url })).status, 400, String(url));
  }
});

test('bad wishes are 400 that name the field; F25: patterns must be regular expressions', async (t) => {
  const gateway = await startGateway(t);
  const url = 'https://93.184.216.34/';
  const wrong: [Record<string, unknown>, string][] = [
    [{ limit: 0 }, 'limit'],
    [{ maxDiscoveryDepth: -1 }, 'maxDiscoveryDepth'],
    [{ includePaths: ['('] }, 'includePaths[0]'],
    [{ excludePaths: 'x' }, 'excludePaths'],
    [{ sitemap: 'maybe' }, 'sitemap'],
    [{ delay: -1 }, 'delay'],
    [{ scrapeOptions: { formats: ['gif'] } }, 'scrapeOptions.formats'],
    [{ webhook: { url: 'https://93.184.216.34/', headers: { host: 'x' } } }, 'webhook.headers'],
    [{ webhook: { url: 'https://93.184.216.34/', headers: { 'x-a': 'a\r\nb: c' } } }, 'webhook.headers'],
    [{ webhook: { url: 'https://93.184.216.34/', secret: 'short' } }, 'webhook.secret'],
    [{ collection: { model: 'x' } }, 'collection.name'],
  ];
  for (const [wish, param] of wrong) {
    const { status, body } = await post(gateway, { url, ...wish });
    assert.deepEqual([status, body.error?.param], [400, param], JSON.stringify(wish));
  }
  assert.equal((await get(gateway, '/v1/tools/crawl/none')).status, 404);
  assert.equal((await get(gateway, '/v1/tools/crawl/none', { method: 'DELETE' })).status, 404);
});

test('quota that runs out stops a crawl with what it has; without any it does not begin', async (t) => {
  const site = await startSite(t);
  const plans = { default: { windows: { month: 3 }, rpm: 'off' } };
  const gateway = await startGateway(t, { ...crawlFast, plans, fetch: { allow_private: [site.place] } });
  const { body } = await post(gateway, { url: site.url });
  const end = await ended(gateway, body.id);
  assert.deepEqual([end.status, end.data.length, end.creditsUsed], ['failed', 3, 3]);
  assert.match(end.error, /^Stopped: Rate limit exceeded: 30-day window/);
  assert.equal(site.asked.length, 3);
  const again = await post(gateway, { url: site.url });
  assert.deepEqual([again.status, again.body.success], [429, false]);
});

const told = {
  crawl: { at: '/v1/tools/crawl', asked: (url: string) => ({ url }) },
  batch_scrape: {
    at: '/v1/tools/batch/scrape',
    asked: (url: string) => ({ urls: [1, 2, 3].map((n) => `${url}/${n}`) }),
  },
};

for (const [kind, { at, asked }] of Object.entries(told))
  test(`a webhook hears of the beginning, every page and the end of a ${kind}, signed`, async (t) => {
    const site = await startSite(t, 1);
    const heard: { headers: IncomingMessage['headers']; body: string }[] = [];
    const done = Promise.withResolvers<void>();
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        heard.push({ headers: request.headers, body });
        response.end();
        if (heard.length === 5) done.resolve();
      });
    }).listen(0, '127.0.0.1');
    t.after(() => receiver.close());
    await once(receiver, 'listening');
    const place = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const gateway = await startGateway(t, { ...crawlFast, fetch: { allow_private: [site.place, place] } });
    const webhook = { url: `http://${place}/hook`, headers: { 'x-mine': 'yes' }, metadata: { job: '7' } };
    const { body } = await post(gateway, { ...asked(site.url), webhook }, at);
    assert.match(body.webhookSecret, /^whsec_/);
    await done.promise;
    const types = heard.map((one) => (JSON.parse(one.body) as Body).type).toSorted();
    assert.deepEqual(
      types,
      ['completed', 'page', 'page', 'page', 'started'].map((event) => `${kind}.${event}`),
    );
    const key = Buffer.from(body.webhookSecret.slice('whsec_'.length), 'base64');
    for (const { headers, body: text } of heard) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
      assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
      assert.equal(headers['x-mine'], 'yes');
      assert.deepEqual((JSON.parse(text) as Body).metadata, { job: '7' });
    }
  });

test('kill -9 in the middle of a crawl loses no page that was read, and none is paid twice', async (t) => {
  const site = await startSite(t, 12);
  const folder = temporaryFolder(t);
  const config = {
    server: { port: 0 },
    admin: { key: adminKey },
    storage: { data_dir: join(folder, 'data') },
    autodetect: 'off',
    keys: [{ key: testKey, account: 'dev', name: 'test' }],
    plans: { default: { windows: { month: 1_000 }, rpm: 'off' } },
    fetch: { allow_private: [site.place] },
    ...crawlFast,
  };
  writeFileSync(join(folder, 'culvert.yaml'), stringify(config));
  const start = async () => {
    const started = await startProcess(t, { cwd: folder, args: ['--config', 'culvert.yaml'] });
    const fetchFrom = (path: string, { json, ...init }: RequestInit & { json?: unknown } = {}) =>
      fetch(started.url + path, {
        ...init,
        ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
        headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      });
    return { ...started, fetch: fetchFrom };
  };
  const first = await start();
  site.hold = { path: '/6', until: new Promise(() => {}) };
  const { body } = await post(first, { url: site.url, maxConcurrency: 1, sitemap: 'skip' });
  while (!site.asked.includes('/6')) await pause(20);
  const before = (await get(first, `/v1/tools/crawl/${body.id}`)).body;
  assert.equal(before.completed, 6);
  first.child.kill('SIGKILL');
  await first.exited;
  site.hold = null;

  const second = await start();
  const end = await ended(second, body.id);
  assert.deepEqual([end.status, end.completed, end.creditsUsed], ['completed', 13, 13]);
  assert.deepEqual(end.data.slice(0, 6), before.data, 'what was acknowledged is there');
  const twice = site.asked.filter((path, at) => site.asked.indexOf(path) !== at);
  assert.deepEqual(twice, ['/6'], 'the one that was under way');
  const { body: usage } = await get(second, '/v1/usage');
  assert.equal(usage.windows.month.used, 13);
  await second.stop();
});

test('a crawl fills a collection that answers a text query; read again, it holds each piece once', async (t) => {
  const site = await startSite(t, 3);
  const gateway = await startGateway(t, { ...crawlFast, fetch: { allow_private: [site.place] } });
  const named = await post(gateway, { url: site.url, collection: 'docs' });
  assert.deepEqual([named.status, named.body.error.param], [400, 'collection']);
  const collection = { name: 'docs', model: 'culvert-lexical-1024' };
  for (let times = 1; times <= 2; times++) {
    const { status, body } = await post(gateway, { url: site.url, collection, scrapeOptions: { maxAge: 0 } });
    assert.equal(status, 200, JSON.stringify(body));
    const end = await ended(gateway, body.id);
    assert.equal(end.status, 'completed');
    assert.deepEqual(
      end.data.map((page: Body) => page.warning),
      end.data.map(() => undefined),
    );
  }
  const found = await post(
    gateway,
    { text: 'stands at /2', limit: 1, with_payload: true },
    '/v1/vectors/collections/docs/points/search',
  );
  const [hit] = found.body.result;
  assert.deepEqual([hit.payload.url, hit.payload.title, hit.payload.heading], [`${site.url}/2`, 'Page /2', 'Page /2']);
  const counted = await post(gateway, { exact: true }, '/v1/vectors/collections/docs/points/count');
  assert.equal(counted.body.result.count, 5);
});

test('a crawl fills a collection with long texts of signs beyond the first 65,536, none cut in two', async (t) => {
  const site = await startSite(t, 1);
  site.words.set('/', `x${'\u{1F600}'.repeat(2_000)}`);
  const gateway = await startGateway(t, { ...crawlFast, fetch: { allow_private: [site.place] } });
  const collection = { name: 'docs', model: 'culvert-lexical-1024' };
  const { body } = await post(gateway, { url: site.url, collection, sitemap: 'skip' });
  const end = await ended(gateway, body.id);
  assert.deepEqual(
    end.data.map((page: Body) => page.warning),
    end.data.map(() => undefined),
  );
  const all = { limit: 100, with_payload: true };
  const { result } = (await post(gateway, all, '/v1/vectors/collections/docs/points/scroll')).body;
  const signs = result.points.map(({ payload }: Body) => [...payload.text].filter((one) => one === '\u{1F600}').length);
  assert.equal(
    signs.reduce((sum: number, one: number) => sum + one, 0),
    2_000,
  );
});

test('a page that was in the collection when its process died is not embedded again; one that was not is', async (t) => {
  const site = await startSite(t, 2);
  const plans = { default: { windows: { month: 1_000 }, rpm: 'off' } };
  const gateway = await startGateway(t, { ...crawlFast, plans, fetch: { allow_private: [site.place] } });
  const collection = { name: 'docs', model: 'culvert-lexical-1024' };
  const { body } = await post(gateway, { url: site.url, collection, sitemap: 'skip' });
  await ended(gateway, body.id);
  const points = '/v1/vectors/collections/docs/points';
  const counted = async () => (await post(gateway, { exact: true }, `${points}/count`)).body.result.count;
  assert.equal(await counted(), 3);

  /** State of one that died before `finish`, and another crawl, with which it is taken up. */
  const diedOverSecondPage = async () => {
    const database = openDatabase(join(gateway.dataDir, 'crawl.db'), 'fsync', 5_000);
    database.exec(`
      UPDATE crawl_page SET state = 'waiting', page = NULL, content_hash = NULL, ended = NULL WHERE seq = 2;
      UPDATE crawl SET status = 'scraping', lease_until_ms = 0, done = done - 1, waiting = 1;
    `);
    database.close();
    const before = await usedUnits(gateway);
    const other = await post(gateway, { url: `${site.url}/1`, limit: 1, sitemap: 'skip' });
    const end = await ended(gateway, body.id);
    await ended(gateway, other.body.id);
    assert.deepEqual([end.status, end.completed, end.creditsUsed], ['completed', 3, 3]);
    const removed = openDatabase(join(gateway.dataDir, 'crawl.db'), 'fsync', 5_000);
    removed.prepare('DELETE FROM crawl WHERE id = ?').run(other.body.id);
    removed.close();
    return (await usedUnits(gateway)) - before;
  };
  const otherPage = 1;
  const vectorCall = 0.05;
  assert.equal(
    (await diedOverSecondPage()).toFixed(2),
    (otherPage + 2 * vectorCall).toFixed(2),
    'looked for, and found',
  );
  assert.equal(await counted(), 3);
  await post(gateway, { filter: { must: [{ key: 'url', match: { value: `${site.url}/1` } }] } }, `${points}/delete`);
  assert.equal(await counted(), 2);
  assert.ok((await diedOverSecondPage()) > otherPage + 1, 'embedded');
  assert.equal(await counted(), 3);
});
