import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from '../batches/world.ts';
import { listening } from '../listening.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';

/* Work that a key of a run began goes on in a process that has never seen that key: no store has it. */

type Body = Record<string, unknown>;

/** Answers chats and pages after `letGo`, and embeddings slowly: a server that ends waits for what it embeds. */
async function startSlowWorld(t: TestContext) {
  const free = Promise.withResolvers<void>();
  let asked = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(request, 'end');
    const { url = '' } = request;
    if (url === '/v1/models' || url === '/robots.txt') return response.writeHead(404).end();
    asked += 1;
    await (url === '/v1/embeddings' ? pause(200) : free.promise);
    const { input = [] } = JSON.parse(String(Buffer.concat(chunks)) || '{}') as { input?: string[] };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const message = { role: 'assistant', content: 'Hello' };
    const answers: Record<string, Body> = {
      '/v1/chat/completions': { id: 'c', object: 'chat.completion', model: 'm', created: 1, usage },
      '/v1/embeddings': { object: 'list', model: 'e', usage },
    };
    Object.assign(answers['/v1/chat/completions'] ?? {}, { choices: [{ index: 0, message, finish_reason: 'stop' }] });
    Object.assign(answers['/v1/embeddings'] ?? {}, {
      data: input.map((_, index) => ({ object: 'embedding', index, embedding: [1, 2, 3, index] })),
    });
    const answer = answers[url];
    response.writeHead(200, { 'content-type': answer === undefined ? 'text/html' : 'application/json' });
    response.end(answer === undefined ? '<h1>A page</h1><p>It has some words.</p>' : JSON.stringify(answer));
  });
  const url = await listening(t, server);
  const config = {
    storage: { data_dir: temporaryFolder(t) },
    providers: { up: { type: 'openai', base_url: `${url}/v1`, api_key: 'k' } },
    models: {
      chat: { targets: ['up/m'] },
      embed: { type: 'embedding', dimensions: 4, targets: ['up/e'] },
    },
    vectors: { stores: { embedding_model: 'embed' } },
    tools: { crawl: { delay: '0s' } },
    fetch: { allow_private: [new URL(url).host] },
  };
  return { url, config, isAsked: () => asked > 0, letGo: () => free.resolve() };
}

type World = Awaited<ReturnType<typeof startSlowWorld>>;

/** Begins work with a key of a run, and ends the server in the midst of it. Returns the next server. */
async function beganBefore<T>(t: TestContext, world: World, begin: (gateway: TestGateway, key: string) => Promise<T>) {
  const first = await startGateway(t, world.config);
  const { key } = await json(await first.fetch('/v1/keys/ephemeral', { json: { minutes: 30 } }));
  const begun = await begin(first, String(key));
  await until('the work is under way', world.isAsked);
  await first.close(0);
  world.letGo();
  return { begun, next: await startGateway(t, world.config) };
}

async function json(response: Response): Promise<Body> {
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as Body;
}

test('the lines of a batch', async (t) => {
  const world = await startSlowWorld(t);
  const { begun, next } = await beganBefore(t, world, ({ url }, key) => beginBatch(openAi(url, key), [chatLine('a')]));
  const client = openAi(next.url, testKey);
  const batch = await batchWhen(client, begun.id, hasEnded);
  const errors = JSON.stringify(await resultsIn(client, batch.error_file_id));
  assert.deepEqual(batch.request_counts, { total: 1, completed: 1, failed: 0 }, errors);
});

test('a file that is read into a vector store', async (t) => {
  const world = await startSlowWorld(t);
  const { begun, next } = await beganBefore(t, world, async ({ fetch }, key) => {
    const headers = { authorization: `Bearer ${key}` };
    const form = new FormData();
    form.set('purpose', 'assistants');
    const text = Array.from({ length: 2_400 }, (_, at) => `Sentence number ${at} is about item ${at}.`).join(' ');
    form.set('file', new Blob([text]), 'long.txt');
    const { id: file } = await json(await fetch('/v1/files', { method: 'POST', body: form, headers }));
    // Five calls embed it.
    const chunking_strategy = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };
    const made = await fetch('/v1/vector_stores', { json: { file_ids: [file], chunking_strategy }, headers });
    const store = await json(made);
    return `/v1/vector_stores/${store.id}/files/${file}`;
  });
  let file: Body = {};
  await until('it is read', async () => {
    file = await json(await next.fetch(begun));
    return file.status !== 'in_progress';
  });
  assert.deepEqual([file.status, file.last_error], ['completed', null]);
});

test('the pages of a crawl', async (t) => {
  const world = await startSlowWorld(t);
  const { begun, next } = await beganBefore(t, world, async ({ fetch }, key) => {
    const crawl = { url: `${world.url}/page`, limit: 1, sitemap: 'skip' };
    const headers = { authorization: `Bearer ${key}` };
    return (await json(await fetch('/v1/tools/crawl', { json: crawl, headers }))).id;
  });
  let crawl: Body = {};
  await until('it has ended', async () => {
    crawl = await json(await next.fetch(`/v1/tools/crawl/${begun}`));
    return crawl.status !== 'scraping';
  });
  assert.deepEqual([crawl.status, crawl.completed], ['completed', 1], JSON.stringify(crawl));
});
