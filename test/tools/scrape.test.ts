import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { article, startAwkwardSite } from './awkward-site.ts';

const html = { 'content-type': 'text/html; charset=utf-8' };
const refresh = (content: string) => `<meta http-equiv="refresh" content="${content}">`;
const stays = '<h1>Stays</h1><p>This page is meant to be read.</p>';
const leading: Readonly<Record<string, string>> = {
  '/leads': refresh('0; url=article'),
  '/leads-from-base': `<base href="/nowhere/">${refresh(`1;URL='../article'`)}`,
  '/leads-by-script': `<noscript>${refresh('1; url=article')}</noscript><script>window.location.replace("article")</script>`,
  '/leads-on': refresh('0; url=/leads'),
  '/loads-again': `${refresh('0')}${stays}`,
  '/loads-itself': `${refresh('0; url=/loads-itself#top')}${stays}`,
  '/leads-later': `${refresh('30; url=article')}${stays}`,
  '/leads-without-scripts': `<noscript>${refresh('0; url=article')}</noscript>${stays}`,
  '/leads-to-script': `${refresh('0; url=javascript:go()')}${stays}`,
  '/leads-there': `${refresh('0; url=/leads-back')}${stays}`,
  '/leads-back': `${refresh('0; url=/leads-there')}${stays}`,
  '/leads-to-private': `${refresh('0; url=http://169.254.169.254/latest')}${stays}`,
};
const site = await startAwkwardSite(
  { after },
  {
    ...Object.fromEntries(
      Object.entries(leading).map(([path, page]) => [path, (response) => void response.writeHead(200, html).end(page)]),
    ),
    // Where the UTF-8 of its path leads that is read as Latin-1.
    '/caf%C3%A9': (response) => response.writeHead(200, html).end('<h1>Here</h1>'),
    '/settings': (response) => response.writeHead(200, { 'content-type': 'application/yaml' }).end('a: [1]\n'),
    '/of-pdf': (response) => response.writeHead(200, html).end('<title>%PDF-1.7</title><p>So a PDF begins.</p>'),
    '/drawing': (response) =>
      response.writeHead(200, { 'content-type': 'image/svg+xml' }).end('<svg><text>a</text></svg>'),
    '/visited': (response) => {
      if (response.req.headers.cookie === 'seen=1') return response.writeHead(200, html).end('<h1>Welcome</h1>');
      return response
        .writeHead(302, { location: '/visited', 'set-cookie': ['seen=1; Path=/; HttpOnly', 'no=; Max-Age=0'] })
        .end();
    },
  },
);
const gateway = await startGateway(
  { after: after as never },
  {
    fetch: { allow_private: [site.place] },
    tools: { scrape: { max_bytes: '2mb' } },
    server: { public_url: 'https://ai.example.org' },
  },
);

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

async function post(tool: string, json: unknown, at: TestGateway = gateway) {
  const response = await at.fetch(`/v1/tools/${tool}`, { method: 'POST', json });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

const scrape = (path: string, asked: Record<string, unknown> = {}) =>
  post('scrape', { url: site.url + path, ...asked });

const usedUnits = async () => {
  const { windows } = (await (await gateway.fetch('/v1/usage')).json()) as Body;
  return windows.month.used as number;
};

test('a page is given as markdown of its main content, with what it says of itself', async () => {
  const { status, headers, body } = await scrape('/article');
  assert.equal(status, 200);
  assert.equal(headers.get('x-culvert-cost'), '1');
  const words = 'It has **words**, and a [link](SITE/next) to what comes after it.'.replace('SITE', site.url);
  const second = 'A second paragraph follows the first one, as is the custom of articles, and says somewhat less.';
  assert.deepEqual(body, {
    success: true,
    data: {
      markdown: `# An article\n\n${words}\n\n${second}`,
      metadata: {
        title: 'An article',
        description: 'About it',
        language: 'en',
        sourceURL: `${site.url}/article`,
        url: `${site.url}/article`,
        statusCode: 200,
        contentType: 'text/html; charset=utf-8',
        cacheState: 'miss',
        renderer: 'none',
        'og:image': 'https://img.example/1.png',
        ogImage: 'https://img.example/1.png',
      },
    },
  });
});

test('every format that is asked for is given, and no other', async () => {
  const formats = ['html', { type: 'rawHtml' }, 'links', 'text'];
  const { body } = await scrape('/article', { formats, maxAge: 0 });
  const { html, rawHtml, links, text, markdown } = body.data;
  assert.match(html, /<b>words<\/b>|<strong>words<\/strong>/);
  assert.equal(rawHtml, article);
  assert.deepEqual(links, [`${site.url}/elsewhere`, `${site.url}/next`]);
  assert.match(text, /^An article\n\n?It has words, and a link/);
  assert.equal(markdown, undefined);
});

test('a page is asked for again only when the kept one is too old, of other wishes, or another key’s', async () => {
  const asked = () => site.asked.get('/gzip') ?? 0;
  assert.equal((await scrape('/gzip')).body.data.metadata.cacheState, 'miss');
  assert.equal((await scrape('/gzip')).body.data.metadata.cacheState, 'hit');
  assert.equal(asked(), 1);
  await scrape('/gzip', { maxAge: 0 });
  await scrape('/gzip', { mobile: true });
  await scrape('/gzip', { mobile: true, onlyMainContent: false });
  assert.equal(asked(), 4);
  const other = await gateway.fetch('/v1/tools/scrape', {
    method: 'POST',
    headers: { authorization: 'Bearer sk-cv-test-key-0002' },
    json: { url: `${site.url}/gzip` },
  });
  assert.equal(((await other.json()) as Body).data.metadata.cacheState, 'miss');
  // A page for somebody's login is theirs alone.
  await scrape('/gzip', { headers: { Cookie: 'a=b' } });
  await scrape('/gzip', { headers: { Cookie: 'a=b' } });
  assert.equal(asked(), 7);
});

test('redirects are followed and told of, a page that is not there is a page', async () => {
  const moved = (await scrape('/moved')).body.data.metadata;
  assert.equal(moved.sourceURL, `${site.url}/moved`);
  assert.equal(moved.url, `${site.url}/article`);
  for (const [path, status] of [
    ['/404', 404],
    ['/500', 500],
    ['/teapot', 418],
  ] as const) {
    const answer = await scrape(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.body.data.metadata.statusCode, status);
  }
});

test('a redirect is followed to a path that is not escaped, and with the cookies that it sets', async () => {
  const { data } = (await scrape(`/to?url=${encodeURIComponent('/café')}`)).body;
  assert.equal(data.markdown, '# Here');
  assert.equal(data.metadata.url, `${site.url}/caf%C3%A9`);
  assert.equal((await scrape('/visited')).body.data?.markdown, '# Welcome');
  // Cookies are of one fetch: the next begins anew.
  const before = site.asked.get('/visited')!;
  assert.equal((await scrape('/visited', { maxAge: 0 })).body.data?.markdown, '# Welcome');
  assert.equal(site.asked.get('/visited'), before + 2);
});

test('a page that leads its reader on at once is followed, and one that is meant to be read is given', async () => {
  for (const path of ['/leads', '/leads-from-base', '/leads-by-script', '/leads-on']) {
    const { data } = (await scrape(path)).body;
    assert.match(data.markdown, /^# An article/, path);
    assert.equal(data.metadata.url, `${site.url}/article`);
  }
  const ones = ['/loads-again', '/loads-itself', '/leads-later', '/leads-without-scripts', '/leads-to-script'];
  for (const path of [...ones, '/leads-there']) {
    const { body } = await scrape(path);
    assert.match(body.data?.markdown ?? JSON.stringify(body), /^# Stays/, path);
    if (path !== '/leads-there') assert.equal(body.data.metadata.url, site.url + path);
  }
  assert.equal((await scrape('/leads-to-private')).body.error.reason, 'url_blocked');
});

test('what is no HTML is given as what it is', async () => {
  assert.equal((await scrape('/text')).body.data.markdown, 'plain <b>');
  assert.equal((await scrape('/json')).body.data.markdown, '```json\n{"a":1}\n```');
  const picture = await scrape('/picture');
  assert.equal(picture.status, 200);
  assert.match(picture.body.warning, /image\/png/);
  assert.equal((await scrape('/settings')).body.data.markdown, 'a: [1]\n');
  assert.equal((await scrape('/of-pdf')).body.data.markdown, 'So a PDF begins.');
  assert.match((await scrape('/drawing')).body.warning, /image\/svg\+xml/);
});

test('a page is told who asks, and of the caller’s headers those alone that it may be told', async () => {
  const { body } = await scrape('/empty', {
    headers: { 'Accept-Language': 'de', Host: 'evil.example', 'X-Forwarded-For': '10.0.0.1', 'Content-Length': '5' },
  });
  const told = site.told.get('/empty')!;
  assert.match(String(told['user-agent']), /^Culvert\/\d\S+ \(\+https:\/\/ai\.example\.org\)$/);
  assert.equal(told['accept-language'], 'de');
  assert.equal(told.host, site.place);
  assert.equal(told['x-forwarded-for'], undefined);
  assert.match(body.warning, /Host, X-Forwarded-For, Content-Length/);
});

test('unknown fields are ignored and listed', async () => {
  const { status, body } = await scrape('/empty', {
    proxy: 'auto',
    blockAds: false,
    origin: 'js-sdk',
    onlyMainContent: null,
  });
  assert.equal(status, 200);
  assert.equal(body.warning, 'These fields are unknown and were ignored: proxy, blockAds.');
});

test('a wrong field is refused by its name, and costs nothing', async () => {
  const before = await usedUnits();
  for (const [json, param] of [
    [{}, 'url'],
    [{ url: 5 }, 'url'],
    [{ url: 'http://' }, 'url'],
    [{ url: site.url, formats: ['mp3'] }, 'formats'],
    [{ url: site.url, timeout: -1 }, 'timeout'],
    [{ url: site.url, timeout: '5' }, 'timeout'],
    [{ url: site.url, onlyMainContent: 'yes' }, 'onlyMainContent'],
    [{ url: site.url, headers: { 'accept-language': 'a\r\nhost: b' } }, 'headers'],
    [{ url: site.url, headers: ['a'] }, 'headers'],
    [{ url: `${site.url}/article`, includeTags: ['p >>> ['] }, 'includeTags'],
    [{ url: `${site.url}/article`, excludeTags: [5] }, 'excludeTags'],
    [{ url: site.url, maxAge: 1e300 }, 'maxAge'],
    [{ url: site.url, render: 'sometimes' }, 'render'],
    [{ url: site.url, render: 'never', waitFor: 100 }, 'render'],
    [{ url: site.url, render: 'never', formats: ['screenshot'] }, 'render'],
    [{ url: site.url, waitFor: 60_001 }, 'waitFor'],
    [{ url: site.url, waitFor: 30_000 }, 'waitFor'],
    [{ url: site.url, formats: [{ type: 'screenshot', fullPage: 1 }] }, 'formats.screenshot.fullPage'],
    [
      { url: site.url, formats: [{ type: 'screenshot', viewport: { width: 9e9 } }] },
      'formats.screenshot.viewport.width',
    ],
    [{ url: site.url, formats: [{ type: 'screenshot', viewport: {} }] }, 'formats.screenshot.viewport'],
    [[], null],
    [null, null],
  ] as const) {
    const { status, body } = await post('scrape', json);
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(body.success, false);
    assert.equal(body.error.param, param, JSON.stringify(json));
    assert.equal(body.error.type, 'invalid_request_error');
  }
  assert.equal(await usedUnits(), before);
});

test('without Chromium, what needs it is answered 501 with what to install, and nothing is charged', async (t) => {
  const bare = await startGateway(t, {
    fetch: { allow_private: [site.place] },
    tools: { scrape: { chromium: '/nowhere/chromium' } },
  });
  for (const asked of [{ render: 'always' }, { formats: ['screenshot'] }, { waitFor: 100 }]) {
    const { status, headers, body } = await post('scrape', { url: `${site.url}/article`, ...asked }, bare);
    assert.equal(status, 501);
    assert.match(body.error.message, /Chromium.*tools\.scrape\.chromium.*apt-get install chromium.*playwright-core/);
    assert.equal(headers.get('x-culvert-cost'), '0');
  }
  const { status, body } = await post('scrape', { url: `${site.url}/script-only` }, bare);
  assert.equal(status, 200);
  assert.equal(body.data.metadata.renderer, 'none');
  assert.match(body.warning, /seems to need a browser, but the file that tools\.scrape\.chromium names does not exist/);
});

test('where rendering is switched off, what needs it is 501 and says so', async (t) => {
  const off = await startGateway(t, {
    fetch: { allow_private: [site.place] },
    tools: { scrape: { render: 'never' } },
  });
  const { status, body } = await post('scrape', { url: `${site.url}/article`, render: 'always' }, off);
  assert.equal(status, 501);
  assert.match(body.error.message, /switched off here \(tools\.scrape\.render: never\)/);
  assert.match((await post('scrape', { url: `${site.url}/script-only` }, off)).body.warning, /switched off/);
});

test('a page that cannot be had is 408, 422 or 502 with a reason, and costs nothing', async () => {
  const before = await usedUnits();
  for (const [path, status, reason] of [
    ['/silent', 408, 'page_timeout'],
    ['/drip', 408, 'page_timeout'],
    ['/loop', 502, 'page_redirects'],
    ['/half', 502, 'page_broken'],
    ['/not-gzip', 502, 'page_broken'],
    ['/not-pdf', 422, 'page_unreadable'],
  ] as const) {
    const waits = status === 408 ? { timeout: 200 } : {};
    const answer = await scrape(path, waits);
    assert.equal(answer.status, status, path);
    assert.equal(answer.body.error.reason, reason, path);
    assert.equal(answer.headers.get('x-culvert-cost'), '0');
  }
  const closed = await post('scrape', { url: 'http://127.0.0.1:1/' });
  assert.equal(closed.body.error.reason, 'url_blocked');
  assert.equal(await usedUnits(), before);
});

test('S17 no spelling of a private place is fetched, nor what redirects there', async () => {
  const port = site.place.split(':')[1];
  const before = await usedUnits();
  for (const url of [
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://127.1/',
    'http://[::]/',
    'http://[::1]/',
    'http://0/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://100.64.0.1/',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://172.16.0.1/',
    'http://168.63.129.16/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://localhost/',
    'http://localhost./',
    'http://x.localhost/',
    'http://printer.local/',
    'http://metadata.google.internal/',
    `http://localhost:${port}/article`,
    `http://user:pass@${site.place}/article`,
    'http://１２７.0.0.1/',
    'http://127。0。0。1/',
    'https://example.org:22/',
    'file:///etc/passwd',
    'gopher://example.org/',
    'ftp://example.org/',
    'data:text/html,x',
    'javascript:alert(1)',
  ]) {
    for (const asked of [url, `${site.url}/to?url=${encodeURIComponent(url)}`]) {
      const { status, body } = await post('scrape', { url: asked });
      assert.equal(status, 400, asked);
      assert.equal(body.error.reason, 'url_blocked', asked);
      assert.match(body.error.message, /url_blocked/);
    }
  }
  assert.equal(await usedUnits(), before);
});

test('at Firecrawl’s paths errors are as its SDK reads them', async () => {
  const { status, body } = await post('v2/scrape', { url: 'http://10.0.0.1/' });
  assert.equal(status, 400);
  assert.equal(body.success, false);
  assert.match(body.error, /not on the public Internet/);
  assert.equal(body.code, 'url_blocked');
  assert.equal(body.details.type, 'invalid_request_error');
});
