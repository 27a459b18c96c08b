import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { fetchAt, noLimits, startGateway, type TestGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';

/* Files of vector stores that are not read to their end leave no passages, whatever ended them. */

type Fetch = TestGateway['fetch'];

/** Embeds the first `calls` requests; others wait until `letGo`. */
async function startEmbedder(t: TestContext, calls: number) {
  const held: (() => void)[] = [];
  let asked = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input = [] } = JSON.parse(String(Buffer.concat(chunks)) || '{}') as { input?: string[] };
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [1, text.length, index, 1] }));
    const answer = () => {
      const usage = { prompt_tokens: 1, total_tokens: 1 };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', model: 'e', data, usage }));
    };
    if (request.method === 'POST' && ++asked > calls) held.push(answer);
    else answer();
  });
  const url = await listening(t, server);
  return {
    config: {
      providers: { up: { type: 'openai', base_url: `${url}/v1`, api_key: 'k' } },
      models: { embed: { type: 'embedding', dimensions: 4, targets: ['up/e'] } },
      vectors: { stores: { embedding_model: 'embed' } },
    },
    holds: () => held.length > 0,
    letGo() {
      calls = Number.POSITIVE_INFINITY;
      for (const answer of held.splice(0)) answer();
    },
  };
}

const pieceTokens = 100;
const chunking_strategy = {
  type: 'static',
  static: { max_chunk_size_tokens: pieceTokens, chunk_overlap_tokens: 0 },
};

/** A store, and a file that is embedded by five calls. */
async function newStore(fetch: Fetch): Promise<{ store: string; file: string }> {
  const text = Array.from({ length: 2_400 }, (_, at) => `Sentence number ${at} is about item ${at}.`).join(' ');
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob([text]), 'long.txt');
  const { id: file } = (await json(await fetch('/v1/files', { method: 'POST', body: form }))) as { id: string };
  const { id: store } = (await json(await fetch('/v1/vector_stores', { json: {} }))) as { id: string };
  return { store, file };
}

async function json(response: Response): Promise<unknown> {
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

async function pointsOf(fetch: Fetch, store: string): Promise<number> {
  const { result } = (await json(await fetch(`/v1/vectors/collections/${store}`))) as {
    result: { points_count: number };
  };
  return result.points_count;
}

async function fileIn(fetch: Fetch, store: string, file: string) {
  const path = `/v1/vector_stores/${store}/files/${file}`;
  return (await json(await fetch(path))) as {
    status: string;
    usage_bytes: number;
    last_error: { message: string } | null;
  };
}

test('a file whose key has no quota left fails without passages, and may be removed', async (t) => {
  const embedder = await startEmbedder(t, 2);
  const plans = { default: { windows: { '5h': 20 }, rpm: 'off' } };
  const gateway = await startGateway(t, { ...embedder.config, plans });
  const { fetch } = gateway;
  const { store, file } = await newStore(fetch);
  const path = `/v1/vector_stores/${store}/files`;
  await json(await fetch(path, { json: { file_id: file, chunking_strategy } }));
  await until('it is half read', () => embedder.holds());
  assert.equal(await pointsOf(fetch, store), 128);
  const deleting = () => fetch(`/v1/vectors/collections/${store}/points/delete`, { json: { points: [1] } });
  while ((await deleting()).status === 200);
  embedder.letGo();
  await until('it failed', async () => (await fileIn(fetch, store, file)).status !== 'in_progress');
  const failed = await fileIn(fetch, store, file);
  assert.equal(failed.status, 'failed');
  assert.match(failed.last_error!.message, /5-hour window/);
  await gateway.reload({ ...embedder.config, plans: noLimits });
  assert.equal(await pointsOf(fetch, store), 0);
  await gateway.reload({ ...embedder.config, plans });
  assert.equal((await deleting()).status, 429);
  assert.equal((await fetch(`${path}/${file}`, { method: 'DELETE' })).status, 200);
  assert.equal((await fetch(`/v1/vector_stores/${store}`, { method: 'DELETE' })).status, 200);
});

test('a file that is cancelled while the model is silent, and a process that is killed then, leave no passages', async (t) => {
  const embedder = await startEmbedder(t, 2);
  const config = { ...embedder.config, storage: { data_dir: join(temporaryFolder(t), 'data') } };
  const first = await startGatewayProcess(t, config);
  const fetch = fetchAt(first.url);
  const { store, file } = await newStore(fetch);
  const path = `/v1/vector_stores/${store}/file_batches`;
  const { id } = (await json(await fetch(path, { json: { file_ids: [file], chunking_strategy } }))) as { id: string };
  await until('it is half read', () => embedder.holds());
  assert.equal(await pointsOf(fetch, store), 128);
  await json(await fetch(`${path}/${id}/cancel`, { method: 'POST' }));
  assert.equal(await pointsOf(fetch, store), 0);
  const ended = once(first.process, 'exit');
  first.process.kill('SIGKILL');
  await ended;
  const again = fetchAt((await startGatewayProcess(t, config)).url);
  assert.equal((await fileIn(again, store, file)).status, 'cancelled');
  assert.equal(await pointsOf(again, store), 0);
});

test('a batch that adds a file again and is cancelled leaves the passages that were there', async (t) => {
  const embedder = await startEmbedder(t, 7);
  const { fetch } = await startGateway(t, { ...embedder.config, plans: noLimits });
  const { store, file } = await newStore(fetch);
  const body = { file_ids: [file], chunking_strategy };
  const path = `/v1/vector_stores/${store}/file_batches`;
  await json(await fetch(path, { json: body }));
  await until('it is read', async () => (await fileIn(fetch, store, file)).status === 'completed');
  const whole = await pointsOf(fetch, store);
  const { usage_bytes } = await fileIn(fetch, store, file);
  assert.ok(usage_bytes > 0);
  const { id } = (await json(await fetch(path, { json: body }))) as { id: string };
  await until('it is half read again', () => embedder.holds());
  await json(await fetch(`${path}/${id}/cancel`, { method: 'POST' }));
  assert.equal(await pointsOf(fetch, store), whole);
  const cancelled = await fileIn(fetch, store, file);
  assert.deepEqual([cancelled.status, cancelled.usage_bytes], ['cancelled', usage_bytes]);
  embedder.letGo();
  await json(await fetch(path, { json: body }));
  await until('it is read anew', async () => (await fileIn(fetch, store, file)).status === 'completed');
  assert.equal(await pointsOf(fetch, store), whole, 'what is read to its end takes their place');
});

test('a file whose process is killed in the middle is read to its end by the next one, once', async (t) => {
  const embedder = await startEmbedder(t, 2);
  const config = { ...embedder.config, storage: { data_dir: join(temporaryFolder(t), 'data') } };
  const first = await startGatewayProcess(t, config);
  const { store, file } = await newStore(fetchAt(first.url));
  await json(
    await fetchAt(first.url)(`/v1/vector_stores/${store}/files`, { json: { file_id: file, chunking_strategy } }),
  );
  await until('it is half read', () => embedder.holds());
  const ended = once(first.process, 'exit');
  first.process.kill('SIGKILL');
  await ended;
  const again = fetchAt((await startGatewayProcess(t, config)).url);
  assert.equal((await fileIn(again, store, file)).status, 'in_progress');
  embedder.letGo();
  await until('it is read', async () => (await fileIn(again, store, file)).status === 'completed');
  const { data } = (await json(await again(`/v1/vector_stores/${store}/files/${file}/content`))) as { data: unknown[] };
  assert.equal(await pointsOf(again, store), data.length);
  assert.equal((await again(`/v1/vector_stores/${store}`, { method: 'DELETE' })).status, 200);
  assert.equal((await again(`/v1/vectors/collections/${store}`)).status, 404);
});
