import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findEspeak } from '../../src/engines/espeak.ts';
import { chromiumMissing } from '../chromium.ts';
import { otherKey, overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { flood, hardCalls, hardPattern, hardText, serveHardSite } from './hard-work.ts';

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

const asOther = { authorization: `Bearer ${otherKey}` };

async function siteGateway(t: Parameters<typeof startGateway>[0]): Promise<{ gateway: TestGateway; url: string }> {
  const site = await serveHardSite(t);
  const tools = { crawl: { delay: '0s' } };
  const gateway = await startGateway(t, { fetch: { allow_private: [site.place] }, tools });
  return { gateway, url: site.url };
}

test('S30 a page of one key is read while hard pages of another wait', async (t) => {
  const { gateway, url } = await siteGateway(t);
  const scrape = (path: string, init: RequestInit = {}) =>
    gateway.fetch('/v1/tools/scrape', { json: { url: url + path, maxAge: 0, render: 'never' }, ...init });
  const hard = flood((nth, signal) => scrape(`/hard?${nth}`, { signal }));
  await settled();
  for (let nth = 0; nth < 3; nth += 1) {
    const easy = await scrape(`/easy?${nth}`, { headers: asOther });
    assert.equal(easy.status, 200);
    assert.match(((await easy.json()) as Body).data.markdown, /It has words/);
  }
  assert.ok(hard.answered() <= hardCalls / 2, `${hard.answered()} hard pages came first`);
  await hard.end();
});

test('S30 patterns of one key that take long hold up no crawl of another', async (t) => {
  const { gateway, url } = await siteGateway(t);
  const begin = async (json: object, init: RequestInit = {}) => {
    const begun = await gateway.fetch('/v1/tools/crawl', { json: { url, ignoreRobotsTxt: true, ...json }, ...init });
    assert.equal(begun.status, 200, await begun.clone().text());
    return ((await begun.json()) as Body).id as string;
  };
  const told = async (id: string, init: RequestInit = {}) =>
    (await (await gateway.fetch(`/v1/tools/crawl/${id}`, init)).json()) as Body;
  const excludePaths = [hardPattern];
  const hard = await Promise.all(
    Array.from({ length: hardCalls }, () => begin({ url: `${url}/links`, sitemap: 'skip', excludePaths })),
  );
  const asked = { limit: 1, sitemap: 'skip', includePaths: ['^/easy'] };
  const id = await begin(asked, { headers: asOther });
  let easy = await told(id, { headers: asOther });
  while (easy.status === 'scraping') easy = await told(id, { headers: asOther });
  assert.equal(easy.status, 'completed', JSON.stringify(easy));
  const still = (await Promise.all(hard.map((one) => told(one)))).filter(({ status }) => status === 'scraping');
  assert.ok(still.length >= hardCalls / 2, `only ${still.length} of the hard crawls were still under way`);
  const message = /takes? too long/;
  const [first] = (await Promise.all(hard.map((one) => told(one)))).filter(({ status }) => status === 'failed');
  if (first !== undefined) assert.match(first.error, message);
});

test('S30 a pattern that cannot be held against a text in linear time is refused, naming its field', async (t) => {
  const { gateway, url } = await siteGateway(t);
  for (const [field, pattern] of [
    ['includePaths', '^/(?=a)'],
    ['includePaths', '(a)\\1'],
    ['excludePaths', '(?<!b)c'],
    ['excludePaths', '(a{1,50}){1,50}'],
    // RE2 takes it, in more steps a character than a URL is worth.
    ['excludePaths', '(a?b?c?d?){900}'],
  ] as const) {
    const answer = await gateway.fetch('/v1/tools/crawl', { json: { url, [field]: ['ok', pattern] } });
    const { error } = (await answer.json()) as Body;
    assert.deepEqual([answer.status, error.param], [400, `${field}[1]`]);
    assert.match(error.message, /RE2/);
  }
});

test('S30 tokens of one key are counted while large texts of another wait', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  await gateway.modelsKnown;
  const count = (content: string, init: RequestInit = {}) =>
    gateway.fetch('/v1/messages/count_tokens', {
      json: { model: 'chat', messages: [{ role: 'user', content }] },
      ...init,
    });
  // The tables are there.
  assert.equal((await count('Hello', { headers: asOther })).status, 200);
  const large = hardText();
  const hard = flood((_, signal) => count(large, { signal }));
  await settled();
  for (let nth = 0; nth < 3; nth += 1) {
    const counted = await count('Hello '.repeat(10), { headers: asOther });
    const { input_tokens } = (await counted.json()) as Body;
    assert.ok(input_tokens > 9 && input_tokens < 40, `${input_tokens}`);
  }
  assert.ok(hard.answered() <= hardCalls / 2, `${hard.answered()} large texts came first`);
  await hard.end();
});

test('S30 sentences of one key that wait for a voice of this machine refuse nobody else', {
  skip: findEspeak() === null && 'espeak-ng is not installed (npm run setup:test-tools)',
}, async (t) => {
  const voice = { type: 'speech', targets: ['culvert/espeak-ng'] };
  const gateway = await startGateway(t, { providers: {}, models: { voice } }, { env: { PATH: process.env.PATH } });
  await gateway.modelsKnown;
  const speak = (input: string, init: RequestInit = {}) =>
    gateway.fetch('/v1/audio/speech', {
      json: { model: 'voice', voice: 'alloy', input, response_format: 'wav' },
      ...init,
    });
  const hard = flood((_, signal) => speak('It goes on and on. '.repeat(200), { signal }), 80);
  for (let nth = 0; nth < 2; nth += 1) {
    await settled();
    const spoken = await speak('It is short.', { headers: asOther });
    assert.equal(spoken.status, 200, spoken.status === 200 ? '' : await spoken.text());
    await spoken.arrayBuffer();
  }
  await hard.end();
});

test('S30 a page that kept a thread busy until it was killed is paid; one that never came is free', async (t) => {
  const { gateway, url } = await siteGateway(t);
  const scrape = async (json: object) => {
    const answer = await gateway.fetch('/v1/tools/scrape', { json: { maxAge: 0, render: 'never', ...json } });
    const { error } = (await answer.json()) as Body;
    return { reason: error?.reason, cost: answer.headers.get('x-culvert-cost') };
  };
  // The thread is there.
  await scrape({ url });
  assert.deepEqual(await scrape({ url: `${url}/hard`, timeout: 400 }), { reason: 'page_timeout', cost: '1' });
  assert.deepEqual(await scrape({ url: 'http://127.0.0.1:9/' }), { reason: 'url_blocked', cost: '0' });
  const crawl = await gateway.fetch('/v1/tools/crawl', {
    json: { url: `${url}/hard`, limit: 1, sitemap: 'skip', ignoreRobotsTxt: true, scrapeOptions: { timeout: 400 } },
  });
  const { id } = (await crawl.json()) as Body;
  const told = async () => (await (await gateway.fetch(`/v1/tools/crawl/${id}`)).json()) as Body;
  let ended = await told();
  while (ended.status === 'scraping') ended = await told();
  assert.deepEqual([ended.status, ended.failed, ended.creditsUsed], ['completed', 1, 1]);
  const { data } = (await (await gateway.fetch('/v1/usage?group_by=endpoint')).json()) as Body;
  const paid = data.map(({ group, units }: Body) => [group, units]);
  assert.deepEqual(paid.toSorted(), [
    ['crawl-page', 1],
    ['scrape', 2],
  ]);
});

const asRoot = process.getuid?.() === 0 ? false : 'Chromium has its sandbox here';

test('S30 without a sandbox Chromium renders what asks for it, and nothing else', {
  skip: chromiumMissing || asRoot,
}, async (t) => {
  const { gateway, url } = await siteGateway(t);
  const scrape = async (render: string) => {
    const json = { url: `${url}/script`, maxAge: 0, render, timeout: 60_000 };
    return (await (await gateway.fetch('/v1/tools/scrape', { json })).json()) as Body;
  };
  const auto = await scrape('auto');
  assert.equal(auto.data.metadata.renderer, 'none');
  assert.match(auto.warning, /no sandbox here, .*render: 'always'/);
  assert.equal((await scrape('always')).data.markdown, 'written');
});
