import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi } from '../batches/world.ts';
import { imagesPath, png, startDrawing } from '../contract/image-world.ts';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const mb = 1024 * 1024;

function upload(gateway: TestGateway, bytes: number): Promise<Response> {
  const body = new FormData();
  body.set('purpose', 'user_data');
  body.set('file', new Blob([new Uint8Array(bytes)]), 'a.bin');
  return gateway.fetch('/v1/files', { method: 'POST', body });
}

async function storage(gateway: TestGateway): Promise<{ used_bytes: number; allowed_bytes: number }> {
  return (
    (await (await gateway.fetch('/v1/usage')).json()) as { storage: { used_bytes: number; allowed_bytes: number } }
  ).storage;
}

const plans = { default: { windows: 'off', rpm: 'off', concurrency: 50, storage: '20mb' } };

test('S39 fifteen files of 10 MB at once keep what a plan of 20 MB allows, and the rest gets 429', async (t) => {
  const gateway = await startGateway(t, { plans });
  const answers = await Promise.all(
    Array.from({ length: 15 }, () =>
      upload(gateway, 10 * mb - 64 * 1024).then(
        ({ status }) => status,
        () => 429,
      ),
    ),
  );
  assert.ok(
    answers.every((status) => status === 200 || status === 429),
    String(answers),
  );
  const { data } = (await (await gateway.fetch('/v1/files')).json()) as { data: { bytes: number }[] };
  const kept = data.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(kept <= 20 * mb, `${kept} bytes are kept`);
  const { used_bytes } = await storage(gateway);
  assert.ok(used_bytes <= 20 * mb && used_bytes >= kept, String(used_bytes));
});

test('S39 what an upload held is given back when it ends, fails or is cut', async (t) => {
  const gateway = await startGateway(t, { plans });
  // A cut one.
  const cut = request(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testKey}`,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': 15 * mb,
    },
  });
  cut.on('error', () => undefined);
  cut.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n');
  await new Promise((resolve) => cut.write(Buffer.alloc(10 * mb), resolve));
  cut.destroy();
  // A failing one: no purpose.
  const wrong = new FormData();
  wrong.set('file', new Blob([new Uint8Array(12 * mb)]), 'a.bin');
  assert.equal((await gateway.fetch('/v1/files', { method: 'POST', body: wrong })).status, 400);
  while ((await storage(gateway)).used_bytes > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const first = await upload(gateway, 12 * mb);
  assert.equal(first.status, 200);
  const { id } = (await first.json()) as { id: string };
  const second = await upload(gateway, 12 * mb);
  assert.equal(second.status, 429);
  const { error } = (await second.json()) as { error: { limit: string; message: string } };
  assert.match(error.message, /Storage limit reached.*Nothing of this request was kept/);
  await gateway.fetch(`/v1/files/${id}`, { method: 'DELETE' });
  assert.equal((await upload(gateway, 12 * mb)).status, 200, 'a deletion makes room at once');
});

test('S39 requests of a batch of Messages count while they come', async (t) => {
  const gateway = await startGateway(t, { plans: { default: { ...plans.default, storage: '3mb' } } });
  const params = { model: 'sim/chat', max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(500_000) }] };
  const requests = Array.from({ length: 10 }, (_, i) => ({ custom_id: `r-${i}`, params }));
  const answer = await gateway.fetch('/v1/messages/batches', { json: { requests } });
  assert.equal(answer.status, 429, await answer.text());
  assert.equal((await storage(gateway)).used_bytes, 0);
});

/** How each of `count` requests at once is answered. */
async function atOnce(count: number, send: (at: number) => Promise<Response>) {
  return Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const response = await send(at);
      return { status: response.status, text: await response.text() };
    }),
  );
}

/** What a table of the data folder has, in bytes. */
function bytesIn(gateway: TestGateway, file: string, sql: string): number {
  const database = new DatabaseSync(join(gateway.dataDir, file), { readOnly: true });
  try {
    return Number((database.prepare(`SELECT ${sql}`).get() as { bytes: number | null }).bytes ?? 0);
  } finally {
    database.close();
  }
}

test('S39 of sixteen pictures of 5 MB at once those are kept that fit, and the rest are in their answers', async (t) => {
  const content = png(1, Buffer.alloc(5 * mb)).toString('base64');
  const drawing = await startDrawing(() => ({ json: { created: 1, data: [{ b64_json: content }] } }));
  t.after(() => drawing.close());
  const gateway = await startGateway(t, {
    plans,
    providers: { draws: { type: 'openai', base_url: `${drawing.url}/v1`, api_key: 'k' } },
    models: { painter: { type: 'image', targets: ['draws/gpt-image-1'] } },
  });
  const answers = await atOnce(16, () =>
    gateway.fetch(imagesPath, { json: { model: 'painter', prompt: 'a cat', response_format: 'url' } }),
  );
  const forms = answers.map(({ status, text }) => {
    if (status !== 200) return status;
    const [picture] = (JSON.parse(text) as { data: { url?: string; b64_json?: string }[] }).data;
    return picture!.url !== undefined ? 'url' : picture!.b64_json === content ? 'base64' : text.slice(0, 200);
  });
  assert.equal(forms.filter((form) => form === 'url').length, 3, String(forms));
  assert.ok(
    forms.every((form) => form === 'url' || form === 'base64' || form === 429),
    String(forms),
  );
  const folder = join(gateway.dataDir, 'files');
  const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.equal(kept.length, 3);
});

test('S39 of forty responses of 1 MB at once those are kept that fit, and the rest say that they are not', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, { plans, ...overUpstreams(upstream.url) });
  const input = () => randomBytes(700_000).toString('base64');
  const answers = await atOnce(40, () => gateway.fetch('/v1/responses', { json: { model: 'chat', input: input() } }));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const stored = answers.filter(({ text }) => (JSON.parse(text) as { store: boolean }).store);
  assert.ok(stored.length > 10, `${stored.length} are kept`);
  const kept = bytesIn(gateway, 'responses.db', 'sum(length(input) + length(answer)) AS bytes FROM response');
  assert.ok(kept <= 20 * mb, `${kept} bytes are kept`);
});

test('S39 twenty writes of points at once, of 5 MB each, keep one more than fits', async (t) => {
  const gateway = await startGateway(t, { plans });
  await gateway.fetch('/v1/vectors/collections', { json: { name: 'docs', vector_size: 4 } });
  const payload = { text: 'x'.repeat(50_000) };
  const answers = await atOnce(20, (at) => {
    const points = Array.from({ length: 100 }, (_, i) => ({ id: at * 100 + i, vector: [1, 2, 3, 4], payload }));
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ points });
    return gateway.fetch('/v1/vectors/collections/docs/points', { method: 'PUT', headers, body });
  });
  const statuses = answers.map(({ status }) => status);
  assert.ok(
    statuses.every((status) => status === 200 || status === 429),
    `${statuses}: ${answers[0]!.text.slice(0, 300)}`,
  );
  assert.ok(statuses.includes(200));
  const { used_bytes } = await storage(gateway);
  assert.ok(used_bytes <= 25 * mb, `${used_bytes} bytes are kept`);
});

test('S39 a crawl of pages of 1 MB ends when what it keeps fills the plan', async (t) => {
  const links = Array.from({ length: 40 }, (_, at) => `<a href="/${at}">Page ${at}</a>`).join(' ');
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const prose =
      url === '/' ? links : `<p>${`A sentence of page ${url}, which has many of them. `.repeat(20_000)}</p>`;
    response.end(`<html><head><title>${url}</title></head><body><main>${prose}</main></body></html>`);
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, {
    plans: { default: { ...plans.default, storage: '8mb' } },
    fetch: { allow_private: [new URL(url).host] },
    tools: { crawl: { delay: '0s' } },
  });
  const begun = await gateway.fetch('/v1/tools/crawl', { json: { url, limit: 41 } });
  const { id } = (await begun.json()) as { id: string };
  let status = 'scraping';
  while (status === 'scraping') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    ({ status } = (await (await gateway.fetch(`/v1/tools/crawl/${id}?limit=1`)).json()) as { status: string });
  }
  assert.equal(status, 'failed');
  const kept = bytesIn(gateway, 'crawl.db', 'sum(octet_length(page)) AS bytes FROM crawl_page');
  const pages = bytesIn(gateway, 'pages.db', 'sum(chars) AS bytes FROM page');
  assert.ok(kept > mb && kept + pages <= 8 * mb, `${kept} and ${pages} bytes are kept`);
});

test('S39 lines of a batch are asked until their results fill the plan, and the rest cost nothing', async (t) => {
  let asked = 0;
  const server = createServer((call, response) => {
    if (call.method === 'POST') asked += 1;
    call.resume();
    const message = { role: 'assistant', content: randomBytes(150_000).toString('base64') };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }));
  });
  const url = await listening(t, server);
  const plan = { ...plans.default, concurrency: 2, storage: '1mb' };
  const gateway = await startGateway(t, { plans: { default: plan }, ...overUpstreams(url) });
  const client = openAi(gateway.url, testKey);
  const lines = Array.from({ length: 30 }, (_, at) => chatLine(`line-${at}`));
  const { id } = await beginBatch(client, lines);
  const { status, request_counts: counts, error_file_id: errors } = await batchWhen(client, id, hasEnded);
  assert.equal(status, 'completed');
  assert.ok(counts!.completed >= 4 && counts!.completed <= 8, JSON.stringify(counts));
  assert.equal(asked, counts!.completed);
  assert.match(await (await client.files.content(errors!)).text(), /Storage limit reached/);
});
