import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { FirecrawlClient } from 'firecrawl';
import { chromiumMissing } from '../chromium.ts';
import { cert, key } from '../loopback-certificate.ts';
import { startGateway } from '../start-gateway.ts';
import { startAwkwardSite } from './awkward-site.ts';
import { scriptPages } from './script-site.ts';
import { searxngSays, startEngine } from './start-engine.ts';

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

/** Enough for a machine that does ten things at once: nothing here is about speed. */
const timeout = 60_000;

// Two at one time, as many as are rendered: what one page waits for, another works in.
describe('pages in Chromium', { skip: chromiumMissing, concurrency: 2 }, async () => {
  if (chromiumMissing) return;
  const other = await startAwkwardSite({ after }, { '/control': (response) => void response.end('x') });
  const secret = await startAwkwardSite({ after });
  const secretPort = Number(new URL(secret.url).port);
  const places = () => ({ other: other.url, secret: secret.url, secretPort });
  const site = await startAwkwardSite({ after }, scriptPages(places));
  const secretAsked = () => [...secret.asked.keys()];
  const secure = await startSecure();
  const engine = await startEngine({ after: after as never }, () => searxngSays(`${site.url}/found`));
  const gateway = await startGateway(
    { after: after as never },
    {
      // The port of the private place is open, so that it is the address which is refused.
      fetch: { ports: [80, 443, secretPort], allow_private: [site.place, other.place, new URL(secure).host] },
      tools: {
        scrape: { max_bytes: '400kb', render_without_sandbox: true },
        crawl: { delay: '1ms' },
        search: { providers: [{ type: 'searxng', base_url: engine.url }] },
      },
    },
  );

  async function post(tool: string, json: unknown) {
    const response = await gateway.fetch(`/v1/tools/${tool}`, { method: 'POST', json });
    return { status: response.status, body: (await response.json()) as Body };
  }
  /** Asks again what a busy machine had no time for (408) or no room for (503): that says nothing of the page. */
  async function patiently(json: Record<string, unknown>) {
    let answer = await post('scrape', json);
    for (let times = 1; times < 5 && [408, 503].includes(answer.status); times++) answer = await post('scrape', json);
    return answer;
  }
  const scrape = (path: string, asked: Record<string, unknown> = {}) => {
    const json = { url: site.url + path, formats: ['text', 'markdown'], timeout, ...asked };
    return asked.timeout === undefined ? patiently(json) : post('scrape', json);
  };
  const rendered = (path: string, asked: Record<string, unknown> = {}) => scrape(path, { render: 'always', ...asked });

  test('a page that scripts alone write is rendered without being asked to, and kept', async () => {
    const { status, body } = await scrape('/app');
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.data.markdown, 'words that a script brought');
    assert.equal(body.data.metadata.renderer, 'chromium');
    assert.equal(body.data.metadata.title, 'App');
    assert.equal(body.data.metadata.statusCode, 200);
    assert.equal(body.warning, undefined);
    assert.equal((await scrape('/app')).body.data.metadata.cacheState, 'hit');
    assert.equal((await rendered('/app')).body.data.metadata.cacheState, 'hit');
    const never = await scrape('/app', { render: 'never' });
    assert.deepEqual([never.body.data.text, never.body.data.metadata.renderer], ['', 'none']);
  });

  test('a page with words of its own is not rendered, unless that is asked for', async () => {
    assert.equal((await scrape('/article')).body.data.metadata.renderer, 'none');
    const { body } = await rendered('/article');
    assert.equal(body.data.metadata.renderer, 'chromium');
    assert.equal(body.data.metadata.cacheState, 'miss', 'what came without a browser does not stand for it');
    assert.match(body.data.markdown, /^# An article\n\nIt has \*\*words\*\*/);
  });

  test('a page that is not there is a page, with its status; one that redirects for ever is none', async () => {
    const { status, body } = await rendered('/gone');
    assert.equal(status, 200);
    assert.equal(body.data.metadata.statusCode, 404);
    assert.equal(body.data.text, 'Not any more');
    const bare = await rendered('/nowhere');
    assert.deepEqual(
      [bare.body.data.metadata.statusCode, bare.body.data.text],
      [404, ''],
      'nor Chromium’s own page of it',
    );
    const loop = await rendered('/loop');
    assert.deepEqual([loop.status, loop.body.error.reason], [502, 'page_redirects']);
  });

  test('waitFor waits for what comes late, and renders by itself', async () => {
    const { body } = await scrape('/late', { waitFor: 3_000 });
    assert.equal(body.data.text, 'late words');
    assert.equal(body.data.metadata.renderer, 'chromium');
  });

  test('a screenshot is a PNG of the window, a phone’s, a given one, or the whole page', async () => {
    const wishes = [
      [{ formats: ['screenshot'] }, [1280, 800]],
      [{ formats: ['screenshot'], mobile: true }, [390, 844]],
      [{ formats: [{ type: 'screenshot', fullPage: true, viewport: { width: 300, height: 200 } }] }, [300, 1500]],
      [{ formats: ['screenshot@fullPage'] }, [1280, 1500]],
    ] as const;
    await Promise.all(
      wishes.map(async ([asked, size]) => {
        const { status, body } = await scrape('/tall', asked);
        assert.equal(status, 200, JSON.stringify(body));
        assert.deepEqual(sizeOf(body.data.screenshot), size);
        assert.equal(body.data.markdown, undefined);
      }),
    );
  });

  test('F59 whatever keeps a page from ending, its time ends it, and the next page comes', async () => {
    const endless = async (path: string) => {
      const { status, body } = await rendered(path, { timeout: 1_000 });
      assert.deepEqual([status, body.error.reason], [408, 'page_timeout'], path);
    };
    await Promise.all(['/endless', '/endless-later'].map(endless));
    await Promise.all(['/alerts', '/silent'].map(endless));
    assert.equal((await rendered('/app', { maxAge: 0 })).body.data.text, 'words that a script brought');
  });

  test('dialogs, popups, printing and downloads keep nobody waiting', async () => {
    const pages = await Promise.all(['/dialogs', '/popups', '/downloads'].map((path) => rendered(path)));
    const texts = pages.map(({ body }) => body.data.text);
    assert.deepEqual(texts, ['after all dialogs', 'after all popups', 'after the download']);
  });

  test('what needs no browser is given as what it is, and that is said', async () => {
    const { status, body } = await rendered('/plain');
    assert.equal(status, 200);
    assert.equal(body.data.text, 'plain words');
    assert.equal(body.data.metadata.renderer, 'none');
    assert.match(body.warning, /read without a browser: it is not HTML/);
    assert.match((await rendered('/file')).body.warning, /a download, not a page/);
  });

  test('S17 F27 no script, frame, picture, worker, form or redirect of a page reaches a private place', async () => {
    let { status, body } = await rendered('/reaching');
    // What a page writes after the time that it is given is not there: on a busy machine it is given that time again.
    for (let times = 1; times < 4 && status === 200 && body.data.text === ''; times++) {
      ({ status, body } = await rendered('/reaching'));
    }
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.data.text, 'other reached, private refused');
    assert.ok(other.asked.has('/control'), 'what may be reached is reached in the same way');
    assert.deepEqual(secretAsked(), []);
  });

  test('S17 a page that leads into a private place is refused as such a place is', async () => {
    const paths = ['/leads-to-private', '/refreshes-to-private', '/redirects-to-private', '/redirects-to-file'];
    for (const [at, { status, body }] of (await Promise.all(paths.map((path) => rendered(path)))).entries()) {
      assert.equal(status, 400, `${paths[at]} ${JSON.stringify(body)}`);
      assert.equal(body.error.reason, 'url_blocked', paths[at]);
    }
    for (const url of [`${secret.url}/`, 'file:///etc/passwd', 'data:text/html,x', 'chrome://version', 'about:blank']) {
      const { status, body } = await post('scrape', { url, render: 'always' });
      assert.deepEqual([status, body.error.reason], [400, 'url_blocked'], url);
    }
    assert.equal((await rendered('/leads-to-file')).body.data.text, 'still here');
    assert.deepEqual(secretAsked(), []);
  });

  test('https goes through the proxy as TLS from end to end: a certificate that does not hold is refused', async () => {
    const { status, body } = await patiently({ url: `${secure}/`, render: 'always', timeout });
    assert.equal(status, 502, JSON.stringify(body));
    assert.equal(body.error.reason, 'page_unreachable');
    assert.match(body.error.message, /certificate is not valid/);
  });

  test('the caller’s headers are for the page’s own origin, whatever it asks or redirects to', async () => {
    const headers = { authorization: 'Bearer mine', cookie: 'a=b', 'accept-language': 'de', 'user-agent': 'Mine/1' };
    assert.equal((await rendered('/asks-both', { headers })).body.data.text, 'asked both');
    for (const path of ['/asks-both', '/told-own']) {
      const { authorization, cookie, 'accept-language': language, 'user-agent': agent } = site.told.get(path)!;
      assert.deepEqual([authorization, cookie, language, agent], ['Bearer mine', 'a=b', 'de', 'Mine/1'], path);
    }
    await rendered('/redirects-to-other', { headers });
    assert.equal(site.told.get('/redirects-to-other')?.authorization, 'Bearer mine');
    for (const path of ['/told-other', '/told']) {
      const told = other.told.get(path)!;
      assert.deepEqual([told.authorization, told.cookie], [undefined, undefined], path);
    }
  });

  test('a page says who asks', async () => {
    await rendered('/app', { maxAge: 0 });
    assert.match(String(site.told.get('/app')?.['user-agent']), /Chrome\/\d+.* Culvert\/\d+\.\d+\.\d+\S*$/);
  });

  test('a page that takes more than it may is cut off, and what came until then is given', async () => {
    const { status, body } = await rendered('/large');
    assert.equal(status, 200, JSON.stringify(body));
    assert.match(body.warning, /more bytes than it may/);
    assert.equal(body.data.text, 'cut off');
  });

  async function crawled(path: string): Promise<{ state: Body; robotsBlocked: string[] }> {
    const scrapeOptions = { formats: ['markdown'], render: 'always', timeout };
    const { body: begun } = await post('crawl', { url: site.url + path, sitemap: 'skip', scrapeOptions });
    const ask = async (what: string) =>
      (await (await gateway.fetch(`/v1/tools/crawl/${begun.id}${what}`)).json()) as Body;
    let state = await ask('');
    for (; state.status === 'scraping'; state = await ask('')) await pause(50);
    return { state, robotsBlocked: (await ask('/errors')).robotsBlocked };
  }

  test('pages of a crawl are rendered as its scrapeOptions say: links that scripts wrote are followed', async () => {
    const { state } = await crawled('/spa');
    const pages = state.data.map((page: Body) => [page.markdown, page.metadata.renderer]);
    assert.deepEqual(pages.at(-1), ['the page behind a link that a script wrote', 'chromium'], JSON.stringify(state));
  });

  test('a crawl’s page that leads to where robots.txt forbids it never asks there', async () => {
    const { state, robotsBlocked } = await crawled('/moves-to-forbidden');
    assert.deepEqual([state.completed, robotsBlocked], [0, [`${site.url}/moves-to-forbidden`]]);
    assert.equal(site.asked.has('/forbidden'), false);
  });

  test('pages of a search’s hits are rendered as its scrapeOptions say', async () => {
    const { status, body } = await post('search', {
      query: 'what scripts write',
      scrapeOptions: { formats: ['markdown'], render: 'always', timeout },
      timeout,
    });
    assert.equal(status, 200, JSON.stringify(body));
    const [hit] = body.data.web;
    assert.deepEqual([hit.markdown, hit.metadata.renderer], ['words of a hit', 'chromium']);
  });

  test('Firecrawl’s SDK waits for a page and gets its picture', async () => {
    const apiUrl = `${gateway.url}/v1/tools`;
    const firecrawl = new FirecrawlClient({ apiKey: gateway.key, apiUrl, maxRetries: 1 });
    const page = await firecrawl.scrape(`${site.url}/app`, {
      formats: ['markdown', { type: 'screenshot', fullPage: true, viewport: { width: 500, height: 400 } }],
      waitFor: 100,
      timeout,
    });
    assert.equal(page.markdown, 'words that a script brought');
    assert.deepEqual(sizeOf(page.screenshot!), [500, 400]);
  });
});

/** With a certificate of its own making. */
async function startSecure(): Promise<string> {
  const server = createServer({ key, cert }, (_request, response) => response.end('secure')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Of a PNG as a data URL: its signature, then width and height in the first chunk (PNG, 11.2.2). */
function sizeOf(dataUrl: string): number[] {
  assert.match(dataUrl, /^data:image\/png;base64,/);
  const png = Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64');
  assert.equal(png.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
  assert.equal(png.subarray(-8, -4).toString('latin1'), 'IEND');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}
