import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { createHostTurns } from '../../src/net/host-turns.ts';
import { createPageFetcher } from '../../src/net/page-fetch.ts';
import { openSqlitePageStore } from '../../src/stores/sqlite/page-store.ts';
import { createExtractPool } from '../../src/tools/extract/extract-pool.ts';
import { createPageReader } from '../../src/tools/scrape/read-page.ts';
import { readScrapeOptions } from '../../src/tools/scrape/scrape-options.ts';
import { ToolFields } from '../../src/tools/tool-fields.ts';
import { fakeClock } from '../fake-clock.ts';
import { startAwkwardSite } from './awkward-site.ts';
import { noRendering } from './no-rendering.ts';

/** The site's answer to a request with this validator; `words` for any other. */
interface Version {
  etag?: string;
  'last-modified'?: string;
  words: string;
}
const versions = new Map<string, Version>();
const versioned = (path: string) =>
  [
    path,
    (response: ServerResponse) => {
      const { words, ...validators } = versions.get(path)!;
      const told = site.told.get(path)!;
      const same =
        (validators.etag !== undefined && told['if-none-match'] === validators.etag) ||
        (validators['last-modified'] !== undefined && told['if-modified-since'] === validators['last-modified']);
      if (same) response.writeHead(304, validators).end();
      else response.writeHead(200, { 'content-type': 'text/html', ...validators }).end(`<p>${words}</p>`);
    },
  ] as const;
const redirects = new Map([['/to/far', '/far']]);
const moved = (path: string) =>
  [path, (response: ServerResponse) => response.writeHead(302, { location: redirects.get(path)! }).end()] as const;
const paths = ['/etag', '/date', '/neither', '/changed', '/own', '/far', '/long', '/here'];
const site = await startAwkwardSite({ after }, Object.fromEntries([...paths.map(versioned), moved('/to/far')]));

const folder = mkdtempSync(join(tmpdir(), 'culvert-again-'));
const clock = fakeClock();
const store = openSqlitePageStore(join(folder, 'pages.db'));
const pool = createExtractPool({ threads: 1, killMs: 60_000, onTrouble: () => undefined });
let extracted = 0;
const reader = createPageReader({
  fetcher: createPageFetcher({
    rules: () => ({ ports: [], allow_private: [site.place] }),
    resolve: async () => [],
    turns: createHostTurns({ atOnceMax: 4, waitingMax: 10, hostsMax: 10, nowMs: clock.monotonicMs }),
    nowMs: clock.wallMs,
    version: '0',
    contact: () => undefined,
  }),
  pool: {
    ...pool,
    extract(...asked) {
      extracted += 1;
      return pool.extract(...asked);
    },
  },
  rendering: noRendering,
  store,
  clock,
  bytesMax: () => 1_000_000,
  onTrouble: (message) => assert.fail(message),
});
after(async () => {
  await reader.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function read(path: string, asked: JsonObject = {}) {
  const { options } = readScrapeOptions(new ToolFields({ maxAge: 60_000, ...asked }));
  const url = site.url + path;
  const page = await reader.read({ tenant: 'acme', url, options, paced: true, signal: new AbortController().signal });
  if (isFailure(page)) assert.fail(JSON.stringify(page));
  return { words: page.markdown, cacheState: page.metadata.cacheState, status: page.metadata.statusCode };
}
const told = (path: string) => {
  const { 'if-none-match': etag, 'if-modified-since': since } = site.told.get(path) ?? {};
  return { etag, since };
};
const asked = (path: string) => site.asked.get(path) ?? 0;
const old = () => clock.advance(60_001);

test('a page that is too old is asked for by what its server gave, and given as it was when that says so', async () => {
  for (const [path, validators, sent] of [
    ['/etag', { etag: 'W/"1"' }, { etag: 'W/"1"', since: undefined }],
    [
      '/date',
      { 'last-modified': 'Sat, 31 Jan 2026 00:00:00 GMT' },
      { etag: undefined, since: 'Sat, 31 Jan 2026 00:00:00 GMT' },
    ],
  ] as const) {
    versions.set(path, { ...validators, words: 'as it was' });
    const page = { words: 'as it was', status: 200 };
    assert.deepEqual(await read(path), { ...page, cacheState: 'miss' });
    assert.deepEqual(told(path), { etag: undefined, since: undefined });
    assert.deepEqual(await read(path), { ...page, cacheState: 'hit' });
    assert.equal(asked(path), 1);
    old();
    const before = extracted;
    assert.deepEqual(await read(path), { ...page, cacheState: 'hit' });
    assert.deepEqual(told(path), sent);
    assert.equal(extracted, before, 'not extracted again');
    // As young as if it had been fetched.
    clock.advance(60_000);
    assert.deepEqual(await read(path), { ...page, cacheState: 'hit' });
    assert.equal(asked(path), 2);
  }
});

test('a page that has changed meanwhile is read anew, with what it is asked by from then on', async () => {
  versions.set('/changed', { etag: '"1"', words: 'before' });
  await read('/changed');
  old();
  versions.set('/changed', { etag: '"2"', words: 'after' });
  assert.deepEqual(await read('/changed'), { words: 'after', cacheState: 'miss', status: 200 });
  assert.equal(told('/changed').etag, '"1"');
  old();
  assert.deepEqual(await read('/changed'), { words: 'after', cacheState: 'hit', status: 200 });
  assert.equal(told('/changed').etag, '"2"');
});

test('nothing is asked by where nothing was given, where all is to be fetched, or for headers of a caller', async () => {
  versions.set('/neither', { words: 'x' });
  await read('/neither');
  old();
  assert.equal((await read('/neither')).cacheState, 'miss');
  versions.set('/long', { etag: `"${'x'.repeat(2_000)}"`, words: 'x' });
  await read('/long');
  old();
  assert.equal((await read('/long')).cacheState, 'miss', 'too long to be kept');
  versions.set('/own', { etag: '"1"', words: 'x' });
  await read('/own');
  assert.equal((await read('/own', { maxAge: 0 })).cacheState, 'miss');
  const headers = {
    'accept-language': 'de',
    'if-none-match': '"1"',
    'If-Modified-Since': 'Sat, 31 Jan 2026 00:00:00 GMT',
  };
  await read('/own', { headers });
  old();
  assert.equal((await read('/own', { headers })).cacheState, 'miss');
  assert.deepEqual(told('/own'), { etag: undefined, since: undefined });
});

test('what a redirect led to is asked for there alone: another place’s word means nothing', async () => {
  for (const path of ['/far', '/here']) versions.set(path, { etag: '"1"', words: path });
  await read('/to/far');
  old();
  assert.deepEqual(await read('/to/far'), { words: '/far', cacheState: 'hit', status: 200 });
  assert.deepEqual([told('/to/far').etag, told('/far').etag], [undefined, '"1"']);
  // The same validator, of another page.
  redirects.set('/to/far', '/here');
  old();
  assert.deepEqual(await read('/to/far'), { words: '/here', cacheState: 'miss', status: 200 });
});
