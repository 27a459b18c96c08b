import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { startGateway } from '../start-gateway.ts';
import { serve } from './bad-web/serve.ts';
import { searxngSays, startEngine } from './start-engine.ts';

const told: (string | string[] | undefined)[][] = [];
const site = await serve({ after }, (response, request) => {
  told.push([request.headers['x-injected'], request.headers.host, request.headers['transfer-encoding']]);
  response.setHeader('content-type', 'text/html');
  const links = Array.from({ length: 60 }, (_, at) => `<a href="/${'a'.repeat(at)}!">${at}</a>`);
  response.end(`<h1>Site</h1><p>It has pages.</p>${links.join('')}`);
});
const engine = await startEngine({ after: after as never }, () => searxngSays());
const gateway = await startGateway(
  { after: after as never },
  {
    fetch: { allow_private: [site.place] },
    tools: {
      scrape: { render: 'never' },
      crawl: { delay: '0s' },
      search: { providers: [{ type: 'searxng', base_url: engine.url }] },
    },
  },
);

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

async function post(path: string, json: unknown): Promise<{ status: number; body: Body }> {
  const response = await gateway.fetch(`/v1/tools/${path}`, { json });
  return { status: response.status, body: (await response.json()) as Body };
}

/** Every member that a tool knows, for values that it does not expect. */
const scrapeMembers = [
  'formats',
  'onlyMainContent',
  'includeTags',
  'excludeTags',
  'waitFor',
  'render',
  'headers',
  'timeout',
  'maxAge',
  'mobile',
  'maxBytes',
];
const members: Record<string, readonly string[]> = {
  scrape: ['url', ...scrapeMembers],
  map: ['url', 'search', 'sitemap', 'includeSubdomains', 'ignoreQueryParameters', 'limit', 'timeout'],
  search: [
    'query',
    'limit',
    'offset',
    'sources',
    'country',
    'lang',
    'time_range',
    'includeDomains',
    'excludeDomains',
    'provider',
    'timeout',
    'scrapeOptions',
  ],
  crawl: [
    'url',
    'limit',
    'maxDiscoveryDepth',
    'includePaths',
    'excludePaths',
    'regexOnFullURL',
    'crawlEntireDomain',
    'allowSubdomains',
    'allowExternalLinks',
    'sitemap',
    'ignoreQueryParameters',
    'ignoreRobotsTxt',
    'delay',
    'maxConcurrency',
    'scrapeOptions',
    'webhook',
    'collection',
  ],
};

const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    null,
    '',
    -1,
    0.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    {},
    [[]],
    [null],
    '\0',
    '\ud800',
    'x'.repeat(100_000),
    'http://',
    'http://[',
    'javascript:alert(1)',
    { type: 'screenshot' },
    [{ type: 'markdown' }, 7],
    { url: 7 },
    { 'content-length': '5' },
    { toString: 1, constructor: { prototype: {} } },
    JSON.parse('{"__proto__": {"url": "http://127.0.0.1/"}}'),
  ),
  fc.dictionary(
    fc.constantFrom(...scrapeMembers, 'url', 'secret', 'events', 'name', 'model', 'type'),
    fc.jsonValue({ maxDepth: 2 }),
  ),
);

for (const [tool, names] of Object.entries(members)) {
  test(`whatever stands in the members of a ${tool} request, the answer is no 500`, async () => {
    const body = fc.dictionary(fc.constantFrom(...names), strange, { maxKeys: 6 });
    await fc.assert(
      fc.asyncProperty(body, async (members) => {
        // Nothing of it is fetched: no name resolves, and only other tests ask the site.
        const json = { ...(tool === 'search' ? { query: 'x' } : { url: 'http://10.0.0.1/' }), ...members };
        for (const path of [tool, `v2/${tool}`]) {
          const { status, body } = await post(path, json);
          assert.ok(status !== 500 && body.success !== undefined, `${path} ${status} ${JSON.stringify(body)}`);
        }
      }),
      { numRuns: 150 },
    );
  });

  test(`a ${tool} request that is no object, or no JSON, is told so`, async () => {
    for (const body of ['', '[]', 'null', '"x"', '7', '{', '{"url":', '\ufeff{}x', '['.repeat(100_000), '\0']) {
      const response = await gateway.fetch(`/v1/tools/${tool}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      assert.equal(response.status, 400, body.slice(0, 20));
      await response.body?.cancel();
    }
  });

  test(`a URL of 100 KB, or a body of 2 MB, is no ${tool} request`, async () => {
    const long = `${site.url}/${'a'.repeat(100_000)}`;
    const { status, body } = await post(tool, tool === 'search' ? { query: long } : { url: long });
    assert.equal(status, 400);
    assert.equal(body.error.param, tool === 'search' ? 'query' : 'url');
    assert.equal((await post(tool, { url: site.url, query: 'x', padding: 'x'.repeat(2_000_000) })).status, 413);
  });
}

/** Names that no header has. */
const badNames = ['accept\r\nx-injected', 'accept: 1\r\nx-injected', 'accept\0', ' accept', ''];
const badHeaders: readonly Record<string, unknown>[] = [
  { accept: 'a\r\nx-injected: 1' },
  { accept: 'a\nx-injected: 1' },
  { accept: 'a\rx-injected: 1' },
  { accept: 'a\0b' },
  { accept: 'a\u010dx-injected: 1' },
  { accept: 'x'.repeat(10_000) },
  { accept: ['a', 'b'] },
  { accept: { toString: 'x' } },
];

test('S23 no header that a caller gives a page begins another one, or is one of ours', async () => {
  told.length = 0;
  for (const headers of badHeaders) {
    for (const tool of ['scrape', 'v2/scrape']) {
      const { status } = await post(tool, { url: site.url, headers, maxAge: 0 });
      assert.equal(status, 400, JSON.stringify(headers).slice(0, 80));
    }
    assert.equal((await post('crawl', { url: site.url, scrapeOptions: { headers } })).status, 400);
  }
  assert.equal(told.length, 0, 'none of them was sent');
  for (const name of [
    ...badNames,
    'Host',
    'Transfer-Encoding',
    'Content-Length',
    'Connection',
    'X-Injected',
    'X-Forwarded-For',
  ]) {
    const { status, body } = await post('scrape', { url: site.url, headers: { [name]: 'evil' }, maxAge: 0 });
    // Left out, and said.
    assert.equal(status, 200, name);
    assert.match(body.warning, /does not send these headers to pages/, name);
  }
  for (const [injected, host, packing] of told) {
    assert.deepEqual([injected, host, packing], [undefined, site.place, undefined]);
  }
});

test('S23 no header that a caller gives a webhook begins another one, or is one of ours', async () => {
  const ours = ['host', 'Content-Length', 'transfer-encoding', 'webhook-signature', 'Proxy-Authorization'];
  for (const headers of [...badHeaders, ...[...badNames, ...ours].map((name) => ({ [name]: 'evil' }))]) {
    const { status } = await post('crawl', { url: site.url, webhook: { url: site.url, headers } });
    assert.equal(status, 400, JSON.stringify(headers).slice(0, 80));
  }
});

test('S30 F25 patterns that backtrack elsewhere take linear time here', async () => {
  const slow = { includePaths: ['^/(a|aa)+$'], excludePaths: ['^/(a+)+$'] };
  const begun = await Promise.all(
    Object.entries(slow).map(([name, patterns]) =>
      post('crawl', { url: site.url, [name]: patterns, delay: 0, limit: 3 }),
    ),
  );
  for (const { status, body } of begun) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await gateway.fetch('/healthz')).status, 200);
    const ended = async () => (await (await gateway.fetch(`/v1/tools/crawl/${body.id}`)).json()) as Body;
    let crawl = await ended();
    for (; crawl.status === 'scraping'; crawl = await ended()) await pause(50);
    assert.equal(crawl.status, 'completed', crawl.error);
  }
  const repeats = '(a{1,9}){1,99}';
  for (const pattern of ['(', '[', '*', '(?<a', 'a{2,1}', '\\', '(?=a)', '(?<!a)b', '(a)\\1', repeats.repeat(9)]) {
    const { status, body } = await post('crawl', { url: site.url, includePaths: [pattern] });
    assert.deepEqual([status, body.error.param], [400, 'includePaths[0]']);
  }
  const many = Array.from({ length: 51 }, () => 'a');
  for (const includePaths of [many, ['a'.repeat(501)], 'a', [7], ['']]) {
    assert.equal((await post('crawl', { url: site.url, includePaths })).status, 400);
  }
});
