import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startGateway } from '../start-gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'culvert-docs-pages-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const docs = join(folder, 'dist', 'docs');
mkdirSync(join(docs, 'assets'), { recursive: true });
mkdirSync(join(docs, 'decisions'));
writeFileSync(join(folder, 'dist', 'index.html'), 'canary');
for (const [name, text] of [
  ['index.html', 'first page'],
  ['404.html', 'no such page'],
  ['errors.html', 'errors'],
  ['decisions/0001-why.html', 'why'],
  ['assets/app.1a2b.js', 'script'],
] as const) {
  writeFileSync(join(docs, name), text);
  writeFileSync(join(docs, `${name}.gz`), gzipSync(text));
}
const gateway = await startGateway({ after: after as never }, {}, { pagesFolder: join(folder, 'dist') });
// Docs are there without the dashboard, too.
const bare = await startGateway(
  { after: after as never },
  { admin: { dashboard: false } },
  { pagesFolder: join(folder, 'nothing') },
);

async function get(path: string, url = gateway.url) {
  const response = await fetch(url + path);
  const { status, headers } = response;
  return { status, text: await response.text(), headers };
}

test('a page of the documentation has an address without an ending', async () => {
  for (const [path, text] of [
    ['/docs', 'first page'],
    ['/docs/', 'first page'],
    ['/docs/errors', 'errors'],
    ['/docs/decisions/0001-why', 'why'],
  ] as const) {
    const page = await get(path);
    assert.deepEqual([page.status, page.text], [200, text], path);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'self'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|\*/);
  }
});

test('its files are kept for good, and what is not there is a 404', async () => {
  const script = await get('/docs/assets/app.1a2b.js');
  assert.equal(script.text, 'script');
  assert.match(script.headers.get('cache-control') ?? '', /immutable/);
  const gone = await get('/docs/assets/app.0000.js');
  assert.deepEqual([gone.status, gone.headers.get('cache-control')], [404, 'no-cache']);
  for (const path of ['/docs/none', '/docs/../index', '/docs/%2e%2e/index.html', '/docs/..%2findex.html']) {
    const { status, text } = await get(path);
    assert.equal(status, 404, path);
    assert.doesNotMatch(text, /canary/, path);
  }
});

test('where the site is not built a page comes as it was written', async () => {
  const { status, text, headers } = await get('/docs/errors', bare.url);
  assert.equal(status, 200);
  assert.match(text, /^# Errors\n/);
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal((await get('/docs/none', bare.url)).status, 404);
});

test('a path that a proxy names is in no file that several people share', async (t) => {
  const link = 'assets/link.3c4d.js';
  writeFileSync(join(docs, link), 'go("/docs/errors")');
  const asked = async (server: object) => {
    const below = await startGateway(t, { server }, { pagesFolder: join(folder, 'dist') });
    const answer = await fetch(`${below.url}/docs/${link}`, { headers: { 'x-forwarded-prefix': '/theirs' } });
    return [await answer.text(), answer.headers.get('cache-control')?.split(',')[0]];
  };
  assert.deepEqual(await asked({ trusted_proxies: ['127.0.0.1'] }), ['go("/theirs/docs/errors")', 'private']);
  assert.deepEqual(await asked({ public_url: 'https://box/ours' }), ['go("/ours/docs/errors")', 'public']);
  assert.deepEqual(await asked({}), ['go("/docs/errors")', 'public']);
});
