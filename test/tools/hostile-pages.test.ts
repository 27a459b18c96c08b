import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startAwkwardSite } from './awkward-site.ts';

const site = await startAwkwardSite({ after });
const bytesMax = 2 * 1024 * 1024;
const gateway = await startGateway(
  { after: after as never },
  { fetch: { allow_private: [site.place] }, tools: { scrape: { max_bytes: '2mb', render: 'never' } } },
);

async function scrape(path: string, asked: Record<string, unknown> = {}) {
  const json = { url: site.url + path, formats: ['markdown', 'text', 'links'], ...asked };
  const response = await gateway.fetch('/v1/tools/scrape', { method: 'POST', json });
  // biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
  return { status: response.status, body: (await response.json()) as any };
}

test('S18 F59 endless pages and bombs are cut at the cap, and what came until then is given as plain text', async () => {
  for (const path of ['/endless', '/bomb', '/large']) {
    const { status, body } = await scrape(path);
    assert.equal(status, 200, path);
    assert.match(body.warning, new RegExp(`cut after ${bytesMax} bytes`), path);
    assert.ok(body.data.text.length > 1_000 && body.data.text.length <= bytesMax, path);
  }
  const smaller = await scrape('/endless', { maxBytes: 5_000 });
  assert.match(smaller.body.warning, /cut after 5000 bytes/);
  const larger = await scrape('/endless', { maxBytes: 50_000_000, maxAge: 0 });
  assert.match(larger.body.warning, new RegExp(`cut after ${bytesMax} bytes`), 'a caller cannot raise it');
});

test('S18 a PDF without an end is refused', async () => {
  const { status, body } = await scrape('/pdf-bomb', { maxBytes: 100_000 });
  assert.equal(status, 502);
  assert.equal(body.error.reason, 'page_too_large');
});

test('F59 what no library of documents survives is given as plain text, with a warning', async () => {
  for (const [path, text] of [
    ['/deep', 'deep down'],
    ['/nodes', 'xxx'],
  ] as const) {
    const { status, body } = await scrape(path);
    assert.equal(status, 200, path);
    assert.match(body.warning, /plain text/, path);
    assert.ok(body.data.text.startsWith(text), path);
  }
});

test('F59 F25 pages made to be slow are read, in part or whole, and the gateway goes on answering', async () => {
  for (const path of [
    '/long-words',
    '/many-brackets',
    '/spaces',
    '/attributes',
    '/comment',
    '/nested-tables',
    '/nested-lists',
    '/links',
    '/script-only',
    '/header-lies',
    '/empty',
  ]) {
    const reading = scrape(path);
    assert.equal((await gateway.fetch('/healthz')).status, 200);
    const { status, body } = await reading;
    assert.equal(status, 200, `${path}: ${JSON.stringify(body).slice(0, 200)}`);
    assert.equal(body.success, true);
  }
  assert.equal((await scrape('/links')).body.data.links.length, 10_000);
});
