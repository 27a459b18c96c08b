import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { listening } from '../listening.ts';
import { adminKey, testKey, testProcesses } from '../start-gateway.ts';
import { launch, runCommand, temporaryFolder } from '../start-process.ts';
import { startGatewayProcess } from './gateway-process.ts';

// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Body = any;

const vectorSize = 64;
const points = 400;

test('F68 a backup taken while the server works holds everything, and a restore brings it all back', async (t) => {
  const site = await startSite(t);
  const first = await startGatewayProcess(t, { fetch: { allow_private: [site.place] }, ...crawlFast });
  const data = join(dirname(first.file), 'data');
  const before = await filled(first.url, site.url);
  const backup = join(temporaryFolder(t), 'backup.gz');
  const shown = await culvert(first.file, 'backup', backup, '--json');
  assert.equal(shown.code, 0, shown.stderr);
  assert.ok(JSON.parse(shown.stdout).fileBytes > points * vectorSize * 4);
  assert.deepEqual(
    readdirSync(dirname(backup)).filter((name) => name !== 'backup.gz'),
    [],
  );
  await ended(first);

  // Into a folder of its own, as on another machine.
  rmSync(data, { recursive: true });
  const restored = await culvert(first.file, 'restore', backup);
  assert.equal(restored.code, 0, restored.stderr);
  assert.equal(statSync(join(data, 'secret')).mode & 0o777, 0o600);
  const asked = site.asked();
  const again = await startAgain(t, first.file, first.url);
  assert.deepEqual(await kept(again, before), before.answers);
  // Pages came from the cache.
  assert.equal(site.asked(), asked);
});

test('F68 each database that is damaged is named by the start or by its log, and by doctor; a restore with --yes mends it', async (t) => {
  const site = await startSite(t);
  const first = await startGatewayProcess(t, { fetch: { allow_private: [site.place] }, ...crawlFast });
  const data = join(dirname(first.file), 'data');
  const before = await filled(first.url, site.url);
  const backup = join(temporaryFolder(t), 'backup.gz');
  assert.equal((await culvert(first.file, 'backup', backup)).code, 0);
  await ended(first);
  assert.equal((await doctor(first.file)).damaged.length, 0);

  const shard = readdirSync(join(data, 'vectors')).find((name) => name.endsWith('.db'))!;
  const names = ['ledger.db', 'culvert.db', 'crawl.db', 'pages.db', join('vectors', shard)];
  for (const name of names) damagePages(join(data, name));
  const { code, damaged } = await doctor(first.file);
  assert.equal(code, 1);
  for (const name of names)
    assert.ok(
      damaged.some((message) => message.includes(join(data, name))),
      name,
    );
  const refused = await culvert(first.file, 'backup', join(dirname(backup), 'other.gz'));
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /\.db: /);
  assert.ok(!existsSync(join(dirname(backup), 'other.gz')));

  const start = await culvert(first.file, 'start');
  assert.equal(start.code, 1);
  // A primary opens the books first.
  assert.match(start.stderr, testProcesses > 1 ? /ledger\.db: .*malformed/ : /culvert\.db: .*malformed/);

  const restored = await culvert(first.file, 'restore', backup, '--yes');
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stderr, /vectors\.before-restore-/);
  assert.equal((await doctor(first.file)).damaged.length, 0);
  assert.deepEqual(await kept(await startAgain(t, first.file, first.url), before), before.answers);
});

for (const { where, name } of [
  { where: 'a table that every commit writes', name: 'rollup' },
  { where: 'an index that is seldom read', name: 'usage_event_client' },
]) {
  test(`F68 damage that a start does not meet, in ${where}: the log names the file soon after, and nothing is booked`, async (t) => {
    const first = await startGatewayProcess(t, crawlFast);
    const ledger = join(dirname(first.file), 'data', 'ledger.db');
    for (let call = 0; call < 300; call += 1) await ok(chat(first.url, { 'x-request-id': `mine-${call}` }));
    await ended(first);
    const books = new DatabaseSync(ledger);
    const pages = books.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno");
    const page = Number(pages.get(name)?.pageno);
    books.close();
    damagePages(ledger, [page]);
    const url = await startAgain(t, first.file, first.url);
    const deadlineMs = performance.now() + 10_000;
    while ((await chat(url)).status !== 503) {
      assert.ok(performance.now() < deadlineMs, 'damaged books are found');
      await after(50);
    }
    assert.equal((await fetch(`${url}/readyz`)).status, 503);
    const log = () => readFileSync(join(dirname(first.file), 'log'), 'utf8');
    while (!/ledger\.db is damaged on the disk/.test(log())) {
      assert.ok(performance.now() < deadlineMs, log());
      await after(50);
    }
  });
}

const crawlFast = { tools: { crawl: { delay: '0s' } }, plans: { default: { windows: 'off', rpm: 'off' } } };

interface Filled {
  crawl: string;
  picture: string;
  /** A key made by the admin API. */
  key: string;
  answers: Body;
}

/** Something of every kind, with its answer. */
async function filled(url: string, site: string): Promise<Filled> {
  const post = (path: string, json: object, key?: string) => call(url, 'POST', path, json, key);
  await ok(post('/admin/v1/accounts', { id: 'made' }, adminKey));
  const { key } = await ok(post('/admin/v1/keys', { account: 'made', name: 'k' }, adminKey));
  await ok(post('/v1/vectors/collections', { name: 'docs', vector_size: vectorSize, distance: 'Dot' }));
  const made = Array.from({ length: points }, (_, id) => ({
    id,
    vector: Array.from({ length: vectorSize }, (_, at) => Math.sin(id * vectorSize + at)),
    payload: { text: `Point ${id}` },
  }));
  await ok(post('/v1/vectors/collections/docs/points', { points: made }));
  await ok(post('/v1/tools/scrape', { url: `${site}/scraped` }));
  const { id: crawl } = await ok(post('/v1/tools/crawl', { url: `${site}/`, limit: 3 }));
  while ((await ok(call(url, 'GET', `/v1/tools/crawl/${crawl}`))).status === 'scraping') await after(20);
  const drawn = await ok(post('/v1/images/generations', { model: 'sim/image', prompt: 'A culvert.', size: '64x64' }));
  const picture = String(drawn.data[0].url).replace(/^https?:\/\/[^/]+/, '');
  const known = { crawl, picture, key };
  return { ...known, answers: await kept(url, { ...known, answers: null }) };
}

/** The parts that can be requested; the same before and after. */
async function kept(url: string, { crawl, picture, key }: Filled): Promise<Body> {
  const near = { vector: Array.from({ length: vectorSize }, (_, at) => Math.sin(7 * vectorSize + at)), limit: 3 };
  const chatted = await ok(chat(url, { 'idempotency-key': 'once' }));
  const crawled = await ok(call(url, 'GET', `/v1/tools/crawl/${crawl}`));
  const scraped = await ok(call(url, 'POST', '/v1/tools/search', { query: 'scraped', limit: 5 }));
  const drawn = await fetch(url + picture);
  assert.equal(drawn.status, 200);
  return {
    hits: (await ok(call(url, 'POST', '/v1/vectors/collections/docs/points/search', near))).result,
    // The first answer, not another one.
    chat: chatted.id,
    crawl: crawled.data.map(({ markdown }: Body) => markdown),
    found: JSON.stringify(scraped).includes('/scraped'),
    picture: Buffer.from(await drawn.arrayBuffer()).toString('base64'),
    models: (await call(url, 'GET', '/v1/models', undefined, key)).status,
    accounts: (await ok(call(url, 'GET', '/admin/v1/accounts', undefined, adminKey))).data.map(({ id }: Body) => id),
  };
}

function call(url: string, method: string, path: string, json?: object, key = testKey, more = {}): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
}

function chat(url: string, headers = {}): Promise<Response> {
  const body = { model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] };
  return call(url, 'POST', '/v1/chat/completions', body, testKey, headers);
}

async function ok(asked: Promise<Response>): Promise<Body> {
  const response = await asked;
  const text = await response.text();
  assert.ok(response.ok, `${response.status} ${text}`);
  return JSON.parse(text);
}

async function ended(server: { process: import('node:child_process').ChildProcess }): Promise<void> {
  server.process.kill('SIGTERM');
  await once(server.process, 'exit');
}

/** The same file again, its output in `log` beside it. */
async function startAgain(t: TestContext, file: string, url: string): Promise<string> {
  const log = join(dirname(file), 'log');
  const { child, stdout, stderr, said } = launch(t, ['start', '--config', file], { cwd: dirname(file) });
  const show = () => {
    // The folder goes before the process does, at the end of the test.
    if (existsSync(dirname(log))) writeFileSync(log, stdout() + stderr());
  };
  child.stdout!.on('data', show);
  child.stderr!.on('data', show);
  await said(/listens on/);
  return url;
}

const culvert = (file: string, command: string, ...args: string[]) =>
  runCommand([command, ...args, '--config', file], { cwd: dirname(file) });

async function doctor(file: string): Promise<{ code: number | null; damaged: string[] }> {
  const { code, stdout } = await culvert(file, 'doctor', '--json');
  const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; message: string }[] };
  const damaged = findings.filter(({ check, state }) => check === 'files' && state === 'problem');
  return { code, damaged: damaged.map(({ message }) => message) };
}

/** Other bytes in these pages, all but the first where none are named. */
function damagePages(file: string, chosen?: readonly number[]): void {
  const whole = readFileSync(file);
  const pageBytes = whole.readUInt16BE(16);
  const all = Array.from({ length: whole.length / pageBytes - 1 }, (_, at) => at + 2);
  const descriptor = openSync(file, 'r+');
  for (const page of chosen ?? all) writeSync(descriptor, Buffer.alloc(64, 0x55), 0, 64, (page - 1) * pageBytes + 1);
  closeSync(descriptor);
}

async function startSite(t: Pick<TestContext, 'after'>) {
  let asked = 0;
  const server = createServer((request, response) => {
    if (request.url === '/robots.txt' || request.url === '/sitemap.xml') return response.writeHead(404).end();
    asked += 1;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return response.end(
      `<html><head><title>Page ${request.url}</title></head><body><main><h1>Page ${request.url}</h1>
       <p>This page was scraped at ${request.url} and says so at some length, as pages do which want to be read.</p>
       <p><a href="/1">One</a> <a href="/2">Two</a></p></main></body></html>`,
    );
  });
  const url = await listening(t, server);
  return { url, place: new URL(url).host, asked: () => asked };
}
