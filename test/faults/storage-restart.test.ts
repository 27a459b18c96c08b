import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startGateway, type TestGateway, workersKnow } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { serve } from '../tools/bad-web/serve.ts';
import { until } from '../until.ts';

const paragraph = 'Wörter über Flüsse und Straßen, mit Umlauten. ';
const links = Array.from({ length: 20 }, (_, at) => `<a href="/far/${at}?utm=none">Link ${at}</a>`).join(' ');

async function answered(gateway: TestGateway, path: string, json?: object, init: RequestInit = {}) {
  const response = await gateway.fetch(path, { ...init, ...(json !== undefined && { json }) });
  const body = await response.text();
  assert.equal(response.ok, true, `${path}: ${body}`);
  // biome-ignore lint/suspicious/noExplicitAny: what any endpoint answers.
  return JSON.parse(body) as any;
}

const storageOf = async (gateway: TestGateway) => (await answered(gateway, '/v1/usage')).storage;

/** Keeps some of every kind. Pages change between two reads of them, and two pages of the crawl are alike. */
async function keepAll(gateway: TestGateway, site: string): Promise<void> {
  const ask = (path: string, json: object, headers: Record<string, string> = {}) =>
    answered(gateway, path, json, { headers });
  await ask('/v1/images/generations', {
    model: 'sim/image',
    prompt: 'A culvert',
    size: '64x64',
    response_format: 'url',
  });
  for (const maxAge of [0, 0]) await ask('/v1/tools/scrape', { url: `${site}/page`, maxAge, render: 'never' });
  const { id } = await ask('/v1/tools/crawl', { url: site, limit: 4, sitemap: 'skip', ignoreRobotsTxt: true });
  await until('the crawl ends', async () => (await answered(gateway, `/v1/tools/crawl/${id}`)).status === 'completed');
  const messages = [{ role: 'user', content: 'Hello' }];
  await ask('/v1/chat/completions', { model: 'sim/chat', messages }, { 'idempotency-key': 'once' });
  const { id: conversation } = await ask('/v1/conversations', { metadata: { topic: 'rivers' } });
  await ask('/v1/responses', { model: 'sim/chat', input: 'Hello', conversation });
  const { id: response } = await ask('/v1/responses', { model: 'sim/chat', input: 'Hello', background: true });
  await until('it ends', async () => (await answered(gateway, `/v1/responses/${response}`)).status === 'completed');
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('file', new Blob([paragraph]), 'a.txt');
  await answered(gateway, '/v1/files', undefined, { method: 'POST', body: form });
}

async function checked(t: TestContext, storage: Record<string, unknown>): Promise<void> {
  let reads = 0;
  const site = await serve(t, (response, { url }) => {
    reads += 1;
    const text = url?.startsWith('/far/1') === true ? paragraph : `${paragraph.repeat(reads % 3)} ${reads}`;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<title>Flüsse</title><main><h1>Flüsse</h1><p>${text}</p>${links}</main>`);
  });
  const config = {
    models: {},
    providers: {},
    fetch: { allow_private: [site.place] },
    tools: { crawl: { delay: '0s' } },
    storage: { data_dir: temporaryFolder(t), secret: 'a secret of thirty-two bytes or more', ...storage },
  };
  const first = await startGateway(t, config);
  // From here on it is counted as it comes.
  assert.equal((await storageOf(first)).used_bytes, 0);
  await keepAll(first, site.url);
  await workersKnow();
  const before = await storageOf(first);
  for (const kind of ['pages', 'crawls', 'pictures', 'replies', 'responses', 'files']) {
    assert.ok(before[kind] > 0, `${kind}: ${JSON.stringify(before)}`);
  }
  await first.close(1_000);
  const second = await startGateway(t, config);
  assert.deepEqual(await storageOf(second), before);
}

test('S31 what an account stores is the same after a restart', async (t) => checked(t, {}));

test('S31 what an account stores is the same after a restart over PostgreSQL', { skip: postgresMissing }, async (t) =>
  checked(t, { database: (await startPostgres(t)).newDatabase() }),
);
