import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { serve } from '../tools/bad-web/serve.ts';
import { fillDisk, mountSmallDisk } from './small-disk.ts';

const other = 'sk-cv-test-storage-other';
const size = 256;
const path = '/v1/vectors/collections/docs';

async function start(t: TestContext, config: Record<string, unknown>): Promise<TestGateway> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return startGateway(t, {
    ...overUpstreams(upstream.url),
    ...config,
    keys: [
      { key: 'sk-cv-test-storage', account: 'dev', name: 'test' },
      { key: other, account: 'else', name: 'test' },
    ],
  });
}

function asker(gateway: TestGateway, key: string) {
  return async (method: string, to: string, json?: object) => {
    const response = await gateway.fetch(to, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(json !== undefined && { json }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what any endpoint answers.
    return { status: response.status, body: (await response.json()) as any };
  };
}
type Ask = ReturnType<typeof asker>;

const create = (ask: Ask) => ask('PUT', path, { vectors: { size, distance: 'Cosine' } });
const upsert = (ask: Ask, first: number) =>
  ask('PUT', `${path}/points`, {
    points: Array.from({ length: 100 }, (_, i) => ({
      id: first + i,
      vector: Array.from({ length: size }, (_, j) => Math.sin(first + i + j)),
      payload: { text: 'x'.repeat(1_000) },
    })),
  });
const query = (ask: Ask) => ask('POST', `${path}/points/query`, { query: new Array(size).fill(1), limit: 3 });
const chat = (ask: Ask) =>
  ask('POST', '/v1/chat/completions', { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });

async function upsertUntilRefused(
  ask: Ask,
): Promise<{ batches: number; status: number; error: Record<string, unknown> }> {
  for (let batches = 0; batches < 100; batches++) {
    const { status, body } = await upsert(ask, 1 + 100 * batches);
    if (status !== 200) return { batches, status, error: body.error };
  }
  assert.fail('it was never refused');
}

test('S31 an account keeps as many bytes as its plan allows, and nobody else is short of any', async (t) => {
  const gateway = await start(t, { plans: { default: { windows: 'off', rpm: 'off', storage: '1mb' } } });
  const ask = asker(gateway, 'sk-cv-test-storage');
  assert.equal((await create(ask)).status, 200);
  const { batches, status, error } = await upsertUntilRefused(ask);
  assert.deepEqual([status, error.limit], [429, 'storage']);
  assert.match(String(error.message), /keeps \d+ of 1048576 bytes \(vectors \d+\).*delete points or collections/);
  assert.ok(batches >= 3 && batches <= 8, `${batches} batches of 200 KB`);

  const { storage } = (await ask('GET', '/v1/usage')).body;
  assert.equal(storage.allowed_bytes, 1_048_576);
  assert.ok(storage.used_bytes >= 1_048_576 && storage.vectors === storage.used_bytes, JSON.stringify(storage));
  assert.equal((await query(ask)).body.result.points.length, 3, 'reads go on');
  assert.equal((await chat(ask)).status, 200);

  const elsewhere = asker(gateway, other);
  assert.equal((await create(elsewhere)).status, 200);
  assert.equal((await upsert(elsewhere, 1)).status, 200, 'another account');

  assert.equal((await ask('POST', `${path}/points/delete`, { filter: {} })).status, 200, 'what frees some passes');
  assert.equal((await upsert(ask, 1)).status, 200, 'and makes room');
});

test('S31 an account that is full keeps no picture, upload, crawled or read page and no reply either', async (t) => {
  let visits = 0;
  const site = await serve(t, (response) => {
    visits += 1;
    response.setHeader('content-type', 'text/html');
    response.end('<h1>Words</h1><p>It has some of them.</p>');
  });
  const gateway = await start(t, {
    plans: { default: { windows: 'off', rpm: 'off', storage: '1mb' } },
    models: {},
    providers: {},
    fetch: { allow_private: [site.place] },
    tools: { crawl: { delay: '0s' } },
  });
  const ask = asker(gateway, 'sk-cv-test-storage');
  const draw = () => ask('POST', '/v1/images/generations', { model: 'sim/image', prompt: 'A culvert.', size: '64x64' });
  const scrape = () => ask('POST', '/v1/tools/scrape', { url: `${site.url}/page`, render: 'never' });
  const again = async () => {
    const headers = { authorization: 'Bearer sk-cv-test-storage', 'idempotency-key': 'once' };
    const json = { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] };
    return ((await (await gateway.fetch('/v1/chat/completions', { json, headers })).json()) as { id: string }).id;
  };
  assert.equal((await draw()).status, 200);
  await create(ask);
  await upsertUntilRefused(ask);

  const drawn = await draw();
  assert.deepEqual([drawn.status, drawn.body.error.limit], [429, 'storage']);
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', new Blob([new Uint8Array(1_000)]), 'a.wav');
  const headers = { authorization: 'Bearer sk-cv-test-storage' };
  const upload = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', headers, body: form });
  assert.equal(upload.status, 429, await upload.text());

  for (let reads = 1; reads <= 2; reads++) {
    assert.equal((await scrape()).status, 200);
    assert.equal(visits, reads, 'read anew');
  }
  const asked = { url: site.url, limit: 1, sitemap: 'skip', ignoreRobotsTxt: true };
  assert.equal((await ask('POST', '/v1/tools/crawl', asked)).status, 429);
  assert.equal(visits, 2, 'none is crawled');
  assert.notEqual(await again(), await again(), 'answered anew');
});

test('S31 below the reserve of the disk whatever is large is refused; the ledger, chats and reads go on', async (t) => {
  const gateway = await start(t, { storage: { reserve: '8000000gb' } });
  const ask = asker(gateway, 'sk-cv-test-storage');
  const refused = await create(ask);
  assert.deepEqual([refused.status, refused.body.error.type], [503, 'overloaded_error']);
  assert.match(refused.body.error.message, /storage\.reserve/);
  assert.equal((await chat(ask)).status, 200);
  assert.equal((await ask('GET', '/v1/vectors/collections')).status, 200);
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', new Blob([new Uint8Array(1_000)]), 'a.wav');
  const upload = await gateway.fetch('/v1/audio/transcriptions', {
    method: 'POST',
    headers: { authorization: 'Bearer sk-cv-test-storage' },
    body: form,
  });
  assert.equal(upload.status, 503);
});

test('F30 disk full: vectors are read though nothing can be booked, and writes are 503', async (t) => {
  const disk = mountSmallDisk(t, 24);
  if (disk === null) return t.skip('no file system can be mounted here (needs root)');
  const gateway = await start(t, { storage: { data_dir: join(disk, 'data'), reserve: '1b' } });
  const ask = asker(gateway, 'sk-cv-test-storage');
  await create(ask);
  assert.equal((await upsert(ask, 1)).status, 200);
  const makeRoom = fillDisk(disk);
  // Free space within existing files may still take a few.
  for (let tries = 0; (await chat(ask)).status === 200; tries++) assert.ok(tries < 2_000);
  const found = await query(ask);
  assert.equal(found.status, 200, JSON.stringify(found.body));
  assert.equal(found.body.result.points.length, 3);
  assert.equal((await upsert(ask, 1_000)).status, 503);
  makeRoom();
  assert.equal((await chat(ask)).status, 200, 'it heals by itself');
});
