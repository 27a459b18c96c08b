import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Address } from '../../src/net/fetch-guard.ts';
import { startGateway } from '../start-gateway.ts';
import { serve } from './bad-web/serve.ts';
import { searxngSays, startEngine } from './start-engine.ts';

/** Nobody may reach it: its port is allowed for pages, its address is not. */
const inner = await serve({ after }, (response) => response.end('secret'));
const innerPort = Number(new URL(inner.url).port);
const outer = await serve({ after }, (response, request) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://outer');
  const to = searchParams.get('to');
  if (to !== null) return void response.writeHead(302, { location: Buffer.from(to).toString('latin1') }).end();
  if (pathname !== '/') return void response.writeHead(404).end();
  const links = [`http://turns.example:${innerPort}/linked`, `http://[::1]:${innerPort}/linked`];
  response.setHeader('content-type', 'text/html');
  response.end(`<h1>Outer</h1><p>It stands outside.</p>${links.map((link) => `<a href="${link}">in</a>`).join('')}`);
});
const engine = await startEngine({ after: after as never }, () => searxngSays(`http://turns.example:${innerPort}/`));

/** `turns.example` is public at its first lookup, and private from then on. */
let turns = 0;
const privately: Address[] = [{ address: '127.0.0.1', family: 4 }];
const publicly: Address[] = [{ address: '93.184.215.14', family: 4 }];
const resolve = async (hostname: string): Promise<readonly Address[]> => {
  if (hostname === 'turns.example') return turns++ === 0 ? publicly : privately;
  if (hostname === 'both.example') return [...publicly, ...privately];
  if (hostname === 'private.example') return privately;
  throw new Error('ENOTFOUND');
};
/** From now on private: the first answer has been given. */
const turned = () => {
  turns = 1;
};

const gateway = await startGateway(
  { after: after as never },
  {
    providers: { google: { type: 'gemini', base_url: outer.url, api_key: 'upstream-key' } },
    models: { seeing: { targets: ['google/gemini-2.5-flash'] }, draw: { type: 'image', targets: ['google/imagen-4'] } },
    fetch: { ports: [innerPort], allow_private: [outer.place] },
    tools: {
      crawl: { delay: '0s' },
      scrape: { render: 'never' },
      search: { providers: [{ type: 'searxng', base_url: engine.url }] },
    },
  },
  { resolve },
);

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

async function post(path: string, json: unknown): Promise<{ status: number; body: Body }> {
  const response = await gateway.fetch(path, { json });
  return { status: response.status, body: (await response.json()) as Body };
}

const chatAbout = (url: string) => ({
  model: 'seeing',
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
});

const asked = (content: object) => [{ role: 'user', content: [content] }];

/** Requests with a picture, a file or a server by its address, in further formats. */
const requests: Record<string, (url: string) => [path: string, body: object, headers?: Record<string, string>]> = {
  'document of Messages': (url) => {
    const document = { type: 'document', source: { type: 'url', url } };
    return ['/v1/messages', { model: 'seeing', max_tokens: 9, messages: asked(document) }];
  },
  'file of Responses': (url) => [
    '/v1/responses',
    { model: 'seeing', input: asked({ type: 'input_file', file_url: url }) },
  ],
  'file of the AI SDK': (url) => [
    '/v4/ai/language-model',
    { prompt: asked({ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }) },
    { 'ai-language-model-id': 'seeing', 'ai-language-model-specification-version': '4' },
  ],
  "picture of Cohere's format": (url) => [
    '/v2/chat',
    { model: 'seeing', messages: asked({ type: 'image_url', image_url: { url } }) },
  ],
  'picture to edit': (url) => ['/v1/images/edits', { model: 'draw', prompt: 'x', images: [{ image_url: url }] }],
  'picture that the AI SDK changes': (url) => [
    '/v4/ai/image-model',
    { prompt: 'x', files: [{ type: 'url', url }] },
    { 'ai-model-id': 'draw' },
  ],
  'MCP server of a caller': (url) => {
    const tool = { type: 'mcp', server_label: 's', server_url: url, require_approval: 'never' };
    return ['/v1/responses', { model: 'seeing', input: 'Hi', tools: [tool] }];
  },
};

/** Places where a caller may name an address, and the form of its refusal. */
const places: Record<string, (url: string) => Promise<void>> = {
  scrape: async (url) => blocked(await post('/v1/tools/scrape', { url }), url),
  'scrape of the SDK': async (url) => {
    const { status, body } = await post('/v1/tools/v2/scrape', { url });
    assert.equal(status, 400, url);
    assert.match(JSON.stringify(body), /url_blocked/, url);
  },
  map: async (url) => blocked(await post('/v1/tools/map', { url }), url),
  crawl: async (url) => blocked(await post('/v1/tools/crawl', { url }), url),
  'webhook of a crawl': async (url) => blocked(await post('/v1/tools/crawl', { url: outer.url, webhook: url }), url),
  'image part': async (url) => {
    // Images need https: the guard sees no other.
    const { status, body } = await post('/v1/chat/completions', chatAbout(url.replace('http:', 'https:')));
    assert.equal(status, 400, `${url}: ${JSON.stringify(body)}`);
    assert.match(body.error.message, /could not be fetched: |send an https: URL/, url);
    if (url.startsWith(`http://127.0.0.1:${innerPort}`))
      assert.match(body.error.message, /not on the public Internet/, url);
  },
};

for (const [name, request] of Object.entries(requests)) {
  places[name] = async (url) => {
    const [path, json, headers = {}] = request(url);
    const response = await gateway.fetch(path, { json, headers });
    // What does not look like an address may be taken for the file's own bytes, and go to the provider.
    assert.notEqual(response.status, 200, `${url}: ${await response.text()}`);
  };
}

function blocked({ status, body }: { status: number; body: Body }, url: string): void {
  assert.equal(status, 400, `${url}: ${JSON.stringify(body)}`);
  assert.equal(body.error.reason, 'url_blocked', `${url}: ${JSON.stringify(body)}`);
}

const hosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0x7f.1',
  '0x7f000001',
  '0X7F.0.0.0x1',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '１２７.0.0.1',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '12\t7.0.\n0.1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fd00::8]',
  'localhost',
  'LOCALHOST.',
  'a.localhost',
  'ⓛocalhost',
  'printer.local',
  'metadata.google.internal',
  'private.example',
  'both.example',
  'public.example@127.0.0.1',
  'user:password@127.0.0.1',
  '169.254.169.254',
  '10.0.0.1',
  '100.64.0.1',
  '168.63.129.16',
];
const whole = [
  `http:\\\\127.0.0.1:${innerPort}\\a`,
  `http:/127.0.0.1:${innerPort}/a`,
  `\thttp://127.0.0.1:${innerPort}/a`,
  `HTTP://127.0.0.1:${innerPort}/a`,
  `http://public.example\\@127.0.0.1:${innerPort}/`,
  `http://127.0.0.1:${innerPort}#@public.example/`,
  `https://127.0.0.1:${innerPort}/`,
];
const urls = [...hosts.map((host) => `http://${host}:${innerPort}/a`), ...whole];

for (const [name, refuse] of Object.entries(places)) {
  test(`S17 F27 ${name}: a private address is refused in every spelling, and nobody asks it`, async () => {
    for (const url of urls) await refuse(url);
    for (const host of ['private.example', '127.0.0.1']) await refuse(`http://${host}/at-a-port-that-is-not-open`);
    assert.deepEqual(inner.asked, []);
  });
}

test('S17 schemes other than http and https, and what is no URL, are refused wherever a URL may be named', async () => {
  for (const url of ['file:///etc/passwd', 'gopher://127.0.0.1:70/_', 'ftp://127.0.0.1/', 'javascript:alert(1)']) {
    for (const path of ['scrape', 'map', 'crawl', 'v2/scrape', 'v2/map', 'v2/crawl']) {
      assert.equal((await post(`/v1/tools/${path}`, { url })).status, 400, `${path} ${url}`);
    }
    assert.equal((await post('/v1/tools/crawl', { url: outer.url, webhook: url })).status, 400, url);
  }
});

test('F27 a redirect leads to no private place, in no spelling', async () => {
  turned();
  // A line break cannot stand in a header.
  for (const host of ['turns.example', ...hosts.filter((one) => !one.includes('\n'))]) {
    const to = `http://${host}:${innerPort}/a`;
    const url = `${outer.url}/?to=${encodeURIComponent(to)}`;
    for (const tool of ['scrape', 'map'] as const) {
      const { status, body } = await post(`/v1/tools/${tool}`, { url, sitemap: 'skip' });
      assert.deepEqual([status, body.error?.reason], [400, 'url_blocked'], `${tool} ${to}: ${JSON.stringify(body)}`);
    }
  }
  assert.deepEqual(inner.asked, []);
});

async function crawled(asked: Record<string, unknown>): Promise<{ crawl: Body; errors: Body }> {
  const { status, body } = await post('/v1/tools/crawl', { sitemap: 'skip', ...asked });
  assert.equal(status, 200, JSON.stringify(body));
  for (;;) {
    const crawl = (await (await gateway.fetch(`/v1/tools/crawl/${body.id}`)).json()) as Body;
    if (crawl.status !== 'scraping') {
      return { crawl, errors: await (await gateway.fetch(`/v1/tools/crawl/${body.id}/errors`)).json() };
    }
    await pause(20);
  }
}

test('F27 a name that is public when a crawl begins, and private when its page is read, is not read', async () => {
  for (const ignoreRobotsTxt of [true, false]) {
    turns = 0;
    const { crawl, errors } = await crawled({ url: `http://turns.example:${innerPort}/`, ignoreRobotsTxt });
    assert.deepEqual([crawl.status, crawl.completed, crawl.failed], ['completed', 0, 1]);
    assert.deepEqual([errors.errors.length, errors.robotsBlocked], [1, []]);
    assert.equal(errors.errors[0].code, 'URL_BLOCKED');
  }
  assert.deepEqual(inner.asked, []);
});

test('S17 a crawled page that redirects to a private place is blocked by its address, and not by a robots.txt', async () => {
  for (const ignoreRobotsTxt of [true, false]) {
    const url = `${outer.url}/?to=${encodeURIComponent(`http://127.0.0.1:${innerPort}/a`)}`;
    const { errors } = await crawled({ url, ignoreRobotsTxt });
    assert.deepEqual(
      [errors.errors.map(({ code }: Body) => code), errors.robotsBlocked],
      [['URL_BLOCKED'], []],
      JSON.stringify(errors),
    );
  }
  assert.deepEqual(inner.asked, []);
});

test('F27 links of a crawl lead to no private place', async () => {
  turned();
  const external = { allowExternalLinks: true, allowSubdomains: true, ignoreRobotsTxt: true };
  const { crawl, errors } = await crawled({ url: outer.url, ...external });
  assert.deepEqual([crawl.status, crawl.completed, crawl.failed], ['completed', 1, 2]);
  assert.equal(errors.errors.length, 2);
  assert.deepEqual(inner.asked, []);
});

test('F27 a webhook that was public when it was named, and is private now, is not told', async () => {
  turns = 0;
  await crawled({ url: outer.url, webhook: `http://turns.example:${innerPort}/hook` });
  // Asked for when the crawl began, and again for the post.
  while (turns < 2) await pause(10);
  assert.deepEqual(inner.asked, []);
});

test('F27 pages of a search are read through the same guard', async () => {
  turned();
  const { status, body } = await post('/v1/tools/search', { query: 'x', scrapeOptions: { formats: ['markdown'] } });
  assert.equal(status, 200);
  assert.match(body.data.web[0].metadata.error, /url_blocked/);
  assert.deepEqual(inner.asked, []);
});
