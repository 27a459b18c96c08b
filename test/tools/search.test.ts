import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Firecrawl } from 'firecrawl';
import { otherKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { braveSays, searxngSays, startEngine } from './start-engine.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are read as a caller in JavaScript reads them.
type Answer = any;

async function search(gateway: TestGateway, body: object, init: RequestInit = {}) {
  const response = await gateway.fetch('/v1/tools/search', { json: body, ...init });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer };
}

const urlsOf = (body: Answer) => body.data.web.map((hit: { url: string }) => hit.url);

test('a search answers in the shape of design §14, under the first engine that can', async (t) => {
  const engine = await startEngine(t, () =>
    searxngSays('https://a.example/1', 'https://www.a.example/1/', 'https://a.example/2'),
  );
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const { status, headers, body } = await search(gateway, { query: 'red pandas', limit: 2, colour: 'red' });
  assert.equal(status, 200);
  const { success, data, results, provider, cached, creditsUsed, warning } = body;
  assert.deepEqual(data.web[0], {
    url: 'https://a.example/1',
    title: 'Title of https://a.example/1',
    description: 'Words of https://a.example/1',
    position: 1,
    score: 1,
  });
  assert.deepEqual(urlsOf(body), ['https://a.example/1', 'https://a.example/2'], 'each page once');
  assert.equal(results[1].content, 'Words of https://a.example/2');
  assert.deepEqual([success, provider, cached, creditsUsed], [true, 'searxng', false, 1]);
  assert.match(warning, /colour/);
  assert.equal(headers.get('x-culvert-cost'), '1');
  assert.equal(engine.asked[0]!.url.searchParams.get('q'), 'red pandas');
});

test('the same question within ten minutes is answered from memory, to the same tenant alone', async (t) => {
  const engine = await startEngine(t, () => searxngSays('https://a.example/'));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  assert.equal((await search(gateway, { query: 'otters' })).body.cached, false);
  const again = await search(gateway, { query: 'otters' });
  assert.deepEqual([again.body.cached, urlsOf(again.body)], [true, ['https://a.example/']]);
  assert.equal(engine.asked.length, 1);
  const headers = { authorization: `Bearer ${otherKey}`, 'content-type': 'application/json' };
  assert.equal((await search(gateway, { query: 'otters' }, { headers })).body.cached, false);
  assert.equal((await search(gateway, { query: 'otters', limit: 6 })).body.cached, false);
  assert.equal(engine.asked.length, 3);
});

test('an engine that fails, refuses its key or is not understood hands over to the next', async (t) => {
  for (const says of [
    { status: 500, body: 'oops' },
    { status: 401, body: { error: 'bad key' } },
    { status: 429, headers: { 'retry-after': '60' }, body: {} },
    { status: 200, body: '<html>a page</html>' },
    { status: 422, body: { error: { detail: 'no such country' } } },
    { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
  ]) {
    const first = await startEngine(t, () => says);
    const second = await startEngine(t, () => braveSays('https://b.example/'));
    const gateway = await startGateway(t, {
      tools: {
        search: {
          providers: [
            { type: 'brave', base_url: second.url, api_key: 'brave-key', priority: 2 },
            { type: 'searxng', base_url: first.url },
          ],
        },
      },
    });
    const { status, body } = await search(gateway, { query: 'otters', country: 'de' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.provider, urlsOf(body)], ['brave', ['https://b.example/']], JSON.stringify(says));
    assert.equal(second.asked[0]!.headers['x-subscription-token'], 'brave-key');
  }
});

test('an engine whose key was refused is left alone', async (t) => {
  const first = await startEngine(t, () => ({ status: 401, body: {} }));
  const second = await startEngine(t, () => searxngSays('https://b.example/'));
  const gateway = await startGateway(t, {
    tools: {
      search: {
        providers: [
          { type: 'brave', base_url: first.url, api_key: 'brave-key' },
          { type: 'searxng', base_url: second.url, priority: 2 },
        ],
      },
    },
  });
  for (const query of ['one', 'two', 'three'])
    assert.equal((await search(gateway, { query })).body.provider, 'searxng');
  assert.equal(first.asked.length, 1);
});

test('when every engine fails the answer names each, and no secret or address', async (t) => {
  const secret = 'tvly-a-very-secret-key-123';
  const says = () => ({ status: 401, body: { detail: { error: `Unauthorized: ${secret} at ${engine.url}/search` } } });
  const engine = await startEngine(t, says);
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'tavily', base_url: engine.url, api_key: secret }] } },
  });
  const { status, headers, body } = await search(gateway, { query: 'otters' });
  assert.equal(status, 502);
  assert.equal(body.success, false);
  assert.match(body.error.message, /tavily: answered 401: Unauthorized/);
  assert.doesNotMatch(JSON.stringify(body), /secret-key|127\.0\.0\.1/);
  assert.equal(headers.get('x-culvert-cost'), '0');
  // Its key rests, but there is nothing better to ask: the answer names the fault again.
  const next = await search(gateway, { query: 'otters' });
  assert.equal(next.status, 502);
  assert.match(next.body.error.message, /tavily: answered 401: Unauthorized/);
});

test('when every engine asks for patience the answer says how long', async (t) => {
  const engine = await startEngine(t, () => ({ status: 429, headers: { 'retry-after': '60' }, body: {} }));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'exa', base_url: engine.url, api_key: 'exa-key' }] } },
  });
  const { status, headers, body } = await search(gateway, { query: 'otters' });
  assert.equal(status, 503, JSON.stringify(body));
  const waitS = Number(headers.get('retry-after'));
  assert.ok(waitS > 0 && waitS <= 60, `${waitS} s`);
});

test('SearXNG that gives no JSON is told by what its settings lack', async (t) => {
  const engine = await startEngine(t, () => ({ status: 403, body: '<h1>Forbidden</h1>' }));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const { status, body } = await search(gateway, { query: 'otters' });
  assert.equal(status, 502);
  assert.match(body.error.message, /search\.formats in its settings\.yml lacks json/);
});

test('an engine that never answers is given up in the time that the caller gives', async (t) => {
  const engine = await startEngine(t, () => 'silent');
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const { status, body } = await search(gateway, { query: 'otters', timeout: 1_000 });
  assert.equal(status, 502);
  assert.match(body.error.message, /searxng: timed out after|no answer came in time|no attempt could be made in time/);
});

test('one engine is asked by its name, and a name that is none is told', async (t) => {
  const first = await startEngine(t, () => searxngSays('https://a.example/'));
  const second = await startEngine(t, () => searxngSays('https://b.example/'));
  const providers = [
    { type: 'searxng', base_url: first.url },
    { type: 'searxng', base_url: second.url },
  ];
  const gateway = await startGateway(t, { tools: { search: { providers } } });
  assert.deepEqual(urlsOf((await search(gateway, { query: 'otters', provider: 'searxng-2' })).body), [
    'https://b.example/',
  ]);
  assert.equal(first.asked.length, 0);
  const { status, body } = await search(gateway, { query: 'otters', provider: 'serxng' });
  assert.equal(status, 400);
  assert.equal(body.error.param, 'provider');
  assert.match(body.error.message, /searxng, searxng-2, corpus\. Did you mean 'searxng'\?/);
});

test('news and web come apart, each asked for in its own place', async (t) => {
  const engine = await startEngine(t, ({ url }) =>
    searxngSays(`https://${url.searchParams.get('categories')}.example/`),
  );
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const { body } = await search(gateway, { query: 'otters', sources: ['web', { type: 'news' }] });
  assert.deepEqual(urlsOf(body), ['https://general.example/']);
  assert.equal(body.data.news[0].url, 'https://news.example/');
  assert.equal(body.results.length, 2);
});

test('words of Tavily’s API mean the same', async (t) => {
  const engine = await startEngine(t, () =>
    searxngSays('https://a.example/', 'https://b.example/', 'https://c.example/'),
  );
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const asked = { query: 'otters', max_results: 1, topic: 'news', time_range: 'w', search_depth: 'basic' };
  const { body } = await search(gateway, {
    ...asked,
    include_domains: ['b.example', 'c.example'],
    exclude_domains: [],
  });
  assert.deepEqual(
    body.results.map((hit: { url: string; content: string }) => [hit.url, hit.content]),
    [['https://b.example/', 'Words of https://b.example/']],
  );
  const { searchParams } = engine.asked[0]!.url;
  assert.deepEqual([searchParams.get('categories'), searchParams.get('time_range')], ['news', 'week']);
  assert.equal(body.warning, 'These fields are unknown and were ignored: search_depth.');
  const refused = await search(gateway, { query: 'otters', exclude_domains: ['no host'] });
  assert.equal(refused.body.error.param, 'exclude_domains[0]');
});

test('wrong fields are 400 by their name, and cost nothing', async (t) => {
  const gateway = await startGateway(t, { plans: { default: { windows: { '5h': 1, week: 1, month: 1 } } } });
  for (const [param, body] of [
    ['query', {}],
    ['query', { query: '  ' }],
    ['query', { query: 'x'.repeat(501) }],
    ['query', { query: 7 }],
    ['limit', { query: 'x', limit: 21 }],
    ['limit', { query: 'x', limit: '5' }],
    ['offset', { query: 'x', offset: -1 }],
    ['sources', { query: 'x', sources: ['videos'] }],
    ['sources', { query: 'x', sources: [] }],
    ['country', { query: 'x', country: 'Germany' }],
    ['lang', { query: 'x', lang: 'english' }],
    ['time_range', { query: 'x', time_range: 'decade' }],
    ['tbs', { query: 'x', tbs: 'toString' }],
    ['includeDomains[1]', { query: 'x', includeDomains: ['a.example', 'a b'] }],
    ['excludeDomains', { query: 'x', excludeDomains: 'a.example' }],
    ['timeout', { query: 'x', timeout: 5 }],
    ['scrapeOptions', { query: 'x', scrapeOptions: [] }],
    ['scrapeOptions.formats', { query: 'x', scrapeOptions: { formats: ['pdf'] } }],
  ] as const) {
    const { status, body: answer } = await search(gateway, body);
    assert.equal(status, 400, JSON.stringify(answer));
    assert.deepEqual([answer.success, answer.error.param], [false, param], answer.error.message);
  }
});

test('without any engine the own pages are searched, labelled; without pages the answer names the fix', async (t) => {
  const site = await startEngine(t, () => ({
    headers: { 'content-type': 'text/html' },
    body: '<html><head><title>Otters</title></head><body><article><p>Otters hold hands while they sleep on the water, so that they do not drift apart.</p></article></body></html>',
  }));
  const gateway = await startGateway(t, { fetch: { allow_private: [new URL(site.url).host] } });
  const none = await search(gateway, { query: 'otters' });
  assert.equal(none.status, 503);
  assert.match(none.body.error.message, /tools\.search\.providers/);
  const scraped = await gateway.fetch('/v1/tools/scrape', { json: { url: `${site.url}/otters` } });
  assert.equal(scraped.status, 200, await scraped.text());
  // No answer waits for the page to be kept.
  let found = none;
  while (found.status === 503) found = await search(gateway, { query: 'sleeping otter' });
  const { status, body } = found;
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.provider, urlsOf(body)], ['corpus', [`${site.url}/otters`]]);
  assert.match(body.data.web[0].description, /hold hands/);
  assert.match(body.warning, /not from the web/);
  assert.deepEqual(urlsOf((await search(gateway, { query: 'giraffes' })).body), [], 'no hit is an answer');
  const headers = { authorization: `Bearer ${otherKey}`, 'content-type': 'application/json' };
  assert.equal(
    (await search(gateway, { query: 'otters' }, { headers })).status,
    503,
    "another key's pages are its own",
  );
});

test('hits are scraped if asked to; what could be read is charged, what could not says why', async (t) => {
  const site = await startEngine(t, ({ url }) => ({
    headers: { 'content-type': 'text/html' },
    body: `<html><body><main><h1>Page ${url.pathname}</h1><p>A paragraph about otters and the water they live in.</p></main></body></html>`,
  }));
  const engine = await startEngine(t, () => searxngSays(`${site.url}/a`, 'http://10.0.0.1/', `${site.url}/b`));
  const gateway = await startGateway(t, {
    fetch: { allow_private: [new URL(site.url).host] },
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const { status, headers, body } = await search(gateway, {
    query: 'otters',
    scrapeOptions: { formats: ['markdown'], colour: 1 },
  });
  assert.equal(status, 200, JSON.stringify(body));
  const [a, refused, b] = body.data.web;
  assert.match(a.markdown, /paragraph about otters/);
  assert.equal(b.metadata.statusCode, 200);
  assert.match(body.results[0].content, /paragraph about otters/);
  assert.ok(refused.markdown === undefined && typeof refused.metadata.error === 'string');
  assert.match(body.warning, /1 of 3 pages.*scrapeOptions\.colour/);
  assert.equal(body.creditsUsed, 3);
  assert.equal(headers.get('x-culvert-cost'), '3');
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as Answer;
  assert.match(JSON.stringify(usage), /"used":3/);
});

test('a search of less time than a page may take reads what it can in it; a page that never answers is told and free', async (t) => {
  const site = await startEngine(t, ({ url }) =>
    url.pathname === '/silent' ? 'silent' : { headers: { 'content-type': 'text/plain' }, body: 'Words about otters.' },
  );
  const engine = await startEngine(t, () => searxngSays(`${site.url}/a`, `${site.url}/silent`));
  const gateway = await startGateway(t, {
    fetch: { allow_private: [new URL(site.url).host] },
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  // A busy machine may need longer than 2 s for a page that answers.
  const searched = (timeout: number) => search(gateway, { query: 'otters', timeout, scrapeOptions: {} });
  const inTwoS = await searched(2_000);
  const isRead = inTwoS.body.data?.web[0].markdown !== undefined;
  const { status, headers, body } = isRead ? inTwoS : await searched(30_000);
  assert.equal(status, 200, JSON.stringify(body));
  const [read, silent] = body.data.web;
  assert.match(read.markdown, /Words about otters/);
  assert.match(silent.metadata.error, /too long/);
  assert.equal(headers.get('x-culvert-cost'), '2');
});

test('pages are held for before anything is asked, and what was not read is given back', async (t) => {
  const site = await startEngine(t, () => ({ headers: { 'content-type': 'text/plain' }, body: 'Words about otters.' }));
  const engine = await startEngine(t, () => searxngSays(`${site.url}/a`));
  const gateway = await startGateway(t, {
    plans: { default: { windows: { '5h': 3, week: 30, month: 30 }, rpm: 'off' } },
    fetch: { allow_private: [new URL(site.url).host] },
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const refused = await search(gateway, { query: 'otters', limit: 5, scrapeOptions: {} });
  assert.equal(refused.status, 429);
  assert.deepEqual([refused.body.success, refused.body.error.limit, engine.asked.length], [false, '5h', 0]);
  const read = await search(gateway, { query: 'otters', limit: 2, scrapeOptions: {} });
  assert.deepEqual([read.status, read.body.creditsUsed], [200, 2], 'of three that were held');
  assert.equal((await search(gateway, { query: 'badgers' })).status, 200, 'the third is there still');
  assert.equal((await search(gateway, { query: 'weasels' })).status, 429);
});

test('a SearXNG of this machine is used once it is confirmed, unless the configuration names engines', async (t) => {
  const engine = await startEngine(t, () => searxngSays('https://a.example/1'));
  const gateway = await startGateway(t);
  assert.equal((await search(gateway, { query: 'otters' })).status, 503);
  await gateway.useLocals([
    { type: 'searxng', title: 'SearXNG', use: 'search', url: engine.url, models: [], note: null },
  ]);
  assert.equal((await search(gateway, { query: 'otters' })).body.provider, 'searxng');
  assert.equal((await search(gateway, { query: 'otters' })).body.cached, true);
  await gateway.reload({ tools: { search: { providers: [{ type: 'corpus' }] } } });
  assert.equal((await search(gateway, { query: 'otters' })).status, 503);
  assert.equal(engine.asked.length, 1);
});

test("Firecrawl's SDK searches", async (t) => {
  const engine = await startEngine(t, () => searxngSays('https://a.example/1'));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
  });
  const client = new Firecrawl({ apiKey: gateway.key, apiUrl: `${gateway.url}/v1/tools` });
  const found = await client.search('otters', { limit: 3, tbs: 'qdr:w', sources: ['web'] });
  assert.deepEqual(
    found.web?.map((hit) => 'url' in hit && hit.url),
    ['https://a.example/1'],
  );
  assert.equal(engine.asked[0]!.url.searchParams.get('time_range'), 'week');
  await assert.rejects(client.search('otters', { limit: 500 }), /'limit' must be a whole number from 1 to 20/);
});
