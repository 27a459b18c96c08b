import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { adminKey, startGateway } from '../start-gateway.ts';

/* `/v1/ocr`: Mistral's format, hand-made from its reference. */

const pages = [{ index: 0, markdown: '# One', images: [], dimensions: null }];
const read = { pages, model: 'mistral-ocr-2505', usage_info: { pages_processed: 3, doc_size_bytes: 9 } };

/** A server that answers with these, one each, then with what was read. */
async function reader(t: TestContext, ...answers: (readonly [status: number, body: object])[]) {
  const asked: { path: string; authorization: string; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (!request.url!.endsWith('/ocr')) return response.writeHead(404).end();
    const body = JSON.parse(Buffer.concat(chunks).toString()) as unknown;
    asked.push({ path: request.url!, authorization: String(request.headers.authorization), body });
    const [status, answer] = answers.shift() ?? [200, read];
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const url = await listening(t, server);
  return { asked, base_url: `${url}/v1` };
}

const json = {
  model: 'reader',
  document: { type: 'document_url', document_url: 'https://example.org/a.pdf' },
  pages: [0],
};

async function setUp(t: TestContext, ...answers: Parameters<typeof reader>[1][]) {
  const [first, second] = [await reader(t, ...answers), await reader(t)];
  const provider = ({ base_url }: typeof first) => ({ type: 'mistral', base_url, api_key: 'upstream-secret' });
  const gateway = await startGateway(t, {
    providers: { one: provider(first), two: provider(second), chats: { ...provider(first), type: 'groq' } },
    models: {
      reader: {
        targets: [
          { provider: 'one', model: 'mistral-ocr-latest', price: { image: 0.001 } },
          { provider: 'two', model: 'ocr-2', priority: 2 },
        ],
      },
      chat: { targets: ['chats/m'] },
    },
  });
  return { gateway, first, second };
}

test('a document is read by whoever serves the model, and its pages are what it costs', async (t) => {
  const { gateway, first } = await setUp(t);
  const answer = await gateway.fetch('/v1/ocr', { json });
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), read);
  const body = { ...json, model: 'mistral-ocr-latest' };
  assert.deepEqual(first.asked, [{ path: '/v1/ocr', authorization: 'Bearer upstream-secret', body }]);
  const id = answer.headers.get('x-culvert-request-id');
  const record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminKey}` } });
  const { endpoint, units, cost_usd, usage } = (await record.json()) as Record<string, unknown> & {
    usage: { images: number; input_tokens: number };
  };
  assert.deepEqual([endpoint, units, cost_usd, usage.images, usage.input_tokens], ['ocr', 1, 0.003, 3, 0]);
});

test('a provider that fails, or answers without pages, is followed by the next', async (t) => {
  const { gateway, second } = await setUp(t, [500, { message: 'no' }], [200, { object: 'error' }]);
  for (const asked of [1, 2]) {
    const answer = await gateway.fetch('/v1/ocr', { json });
    assert.deepEqual(await answer.json(), read);
    assert.equal(second.asked.length, asked);
  }
});

test('a model whose provider does not serve it, and a body without a model, are the caller’s fault', async (t) => {
  const { gateway } = await setUp(t);
  for (const model of ['chat', undefined]) {
    const answer = await gateway.fetch('/v1/ocr', { json: { ...json, model } });
    const { error } = (await answer.json()) as { error: { param: string; message: string } };
    assert.deepEqual([answer.status, error.param], [400, 'model'], error.message);
  }
});

test('a file at the provider cannot be named: it may be of another key', async (t) => {
  const { gateway, first, second } = await setUp(t);
  const document = { type: 'file', file_id: '6f0f1a1e-1f0c-4b7e-9c3e-0c6a3d1b2a10' };
  const answer = await gateway.fetch('/v1/ocr', { json: { ...json, document } });
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /"param":"document\.file_id"/);
  assert.deepEqual([...first.asked, ...second.asked], []);
});
