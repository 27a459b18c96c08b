import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { beginBatch, chatLine, hasEnded, openAi } from '../batches/world.ts';
import { adminKey, overUpstreams, testKey, testProcesses } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { storageOver } from './replicas.ts';

const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };

test('a replica that cannot open what others opened gets no traffic while they serve, and serves the rest alone', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
  t.after(() => upstream.close());
  const storage = storageOver(postgres.newDatabase(), redis);
  const start = (secret: string, earlier: readonly string[] = []) =>
    startGatewayProcess(t, {
      ...overUpstreams(upstream.url),
      storage: { ...storage, secret, earlier_secrets: earlier, data_dir: join(temporaryFolder(t), 'data') },
    });
  const ready = async ({ url }: { url: string }) => (await fetch(`${url}/readyz`)).status === 200;
  const right = await start(storage.secret);
  await until('the first one is ready', () => ready(right));
  const provider = { name: 'late', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'sk-upstream' };
  const made = await fetch(`${right.url}/admin/v1/providers`, {
    method: 'POST',
    headers: admin,
    body: JSON.stringify(provider),
  });
  assert.equal(made.status, 201, await made.text());

  const wrong = await start('w'.repeat(44));
  for (let looks = 0; looks < 8; looks += 1) {
    assert.equal(await ready(wrong), false);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const health = await fetch(`${wrong.url}/admin/v1/health`, { headers: admin });
  assert.match(await health.text(), /1 stored entry cannot be opened here: another storage\.secret sealed it/);
  const both = await start('w'.repeat(44), [storage.secret]);
  await until('one that has their secret as an earlier one is ready', () => ready(both));
  assert.equal(await ready(right), true);

  for (const one of [right, both]) one.process.kill('SIGTERM');
  await until('the last one serves what it can', () => ready(wrong));
});

test('stored agents and MCP servers that no secret of a server opens stay in their lists, with the reason', async (t) => {
  const data_dir = join(temporaryFolder(t), 'data');
  const start = (secret: string) => startGatewayProcess(t, { storage: { data_dir, secret } });
  const lists = { '/admin/v1/agents': 'planner', '/admin/v1/mcp-servers': 'tickets' };
  const first = await start('o'.repeat(44));
  for (const [path, name] of Object.entries(lists)) {
    const body = JSON.stringify({ name, url: 'http://127.0.0.1:9/there', headers: { authorization: 'Bearer t' } });
    const made = await fetch(first.url + path, { method: 'POST', headers: admin, body });
    assert.equal(made.status, 201, await made.text());
  }
  const ended = once(first.process, 'exit');
  first.process.kill('SIGTERM');
  await ended;

  const { url } = await start('f'.repeat(44));
  for (const [path, name] of Object.entries(lists)) {
    const { data } = (await (await fetch(url + path, { headers: admin })).json()) as {
      data: Record<string, unknown>[];
    };
    assert.deepEqual(
      data.map((entry) => [entry.name, entry.source, entry.status]),
      [[name, 'kept', 'unknown']],
    );
    assert.match(String(data[0]?.problem), /storage\.secret/);
    const one = await fetch(`${url}${path}/${name}`, { headers: admin });
    assert.deepEqual([one.status, ((await one.json()) as { name: string }).name], [200, name]);
  }
});

test('what a secret sealed that is gone is left out of lists, says so when it is read, and comes back with its secret', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const folder = temporaryFolder(t);
  const [dataDir, log] = [join(folder, 'data'), join(folder, 'log')];
  const [old, fresh] = ['o'.repeat(44), 'f'.repeat(44)] as const;
  let running: Awaited<ReturnType<typeof startGatewayProcess>> | null = null;
  const restarted = async (secret: string, earlier: readonly string[] = []) => {
    if (running !== null) {
      const ended = once(running.process, 'exit');
      running.process.kill('SIGTERM');
      await ended;
    }
    const storage = { data_dir: dataDir, secret, earlier_secrets: earlier };
    running = await startGatewayProcess(t, { ...overUpstreams(upstream.url), storage }, { log });
    return running.url;
  };
  const headers = { authorization: `Bearer ${testKey}` };
  const read = async (url: string, path: string) => {
    const answer = await fetch(`${url}${path}`, { headers });
    return { status: answer.status, json: (await answer.json()) as { id: string; data: { id: string }[] } };
  };
  const send = async (url: string, path: string, body: object) => {
    const form = body instanceof FormData;
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...headers, ...(!form && { 'content-type': 'application/json' }) },
      body: form ? body : JSON.stringify(body),
    });
    assert.ok(answer.ok, path);
    return ((await answer.json()) as { id: string }).id;
  };
  const make = async (url: string) => {
    const line = { custom_id: '1', method: 'POST', url: '/v1/embeddings', body: { model: 'none', input: 'x' } };
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob([JSON.stringify(line)]), 'lines.jsonl');
    const file = await send(url, '/v1/files', form);
    const batch = { input_file_id: file, endpoint: '/v1/embeddings', completion_window: '24h' };
    return {
      '/v1/files': file,
      '/v1/batches': await send(url, '/v1/batches', batch),
      '/v1/vector_stores': await send(url, '/v1/vector_stores', { name: 'Recipes', file_ids: [file] }),
      '/v1/responses': await send(url, '/v1/responses', { model: 'chat', input: 'Hi' }),
      '/v1/conversations': await send(url, '/v1/conversations', { metadata: { a: 'b' } }),
    };
  };
  const before = await make(await restarted(old));
  const url = await restarted(fresh);
  const after = await make(url);
  for (const [path, id] of Object.entries(before)) {
    const { status, json } = await read(url, `${path}/${id}`);
    assert.equal(status, 404, path);
    assert.match(JSON.stringify(json), /sealed with another storage\.secret/, path);
    if (path === '/v1/responses' || path === '/v1/conversations') continue;
    const listed = await read(url, path);
    const ids = listed.json.data.map((one) => one.id);
    assert.deepEqual([ids.includes(id), ids.includes(after[path as keyof typeof after])], [false, true], path);
  }
  const both = await restarted(fresh, [old]);
  for (const [path, id] of [...Object.entries(before), ...Object.entries(after)])
    assert.equal((await read(both, `${path}/${id}`)).json.id, id);

  const again = await restarted(old);
  const third = await send(again, '/v1/vector_stores', { name: 'More' });
  for (const page of [`limit=1&after=${third}`, `limit=1&order=asc&before=${third}`]) {
    const { json } = await read(again, `/v1/vector_stores?${page}`);
    assert.deepEqual(
      json.data.map(({ id }) => id),
      [before['/v1/vector_stores']],
      'what is left out ends no list',
    );
  }
  assert.equal((await read(again, '/v1/batches?limit=1')).json.data[0]?.id, before['/v1/batches']);
  assert.equal((await read(again, '/v1/files?limit=1')).json.data.length, 1);
  const lines = () =>
    (readFileSync(log, 'utf8').match(/lists left out \d+ of their entries: each was sealed/g) ?? []).length;
  await until('the log has a line of it', () => lines() > 0);
  assert.ok(lines() <= testProcesses, 'one a minute');
});

test('a batch that no secret opens fails when its window is long over, and names storage.secret', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always delay=60s']);
  const folder = temporaryFolder(t);
  const start = (secret: string) =>
    startGatewayProcess(t, { ...overUpstreams(upstream.url), storage: { data_dir: folder, secret } }, { graceMs: 500 });
  const first = await start('o'.repeat(44));
  const { id } = await beginBatch(openAi(first.url, testKey), [chatLine('1')]);
  const ended = once(first.process, 'exit');
  first.process.kill('SIGTERM');
  await ended;
  const batches = new DatabaseSync(join(folder, 'batches.db'));
  batches.prepare('UPDATE batch SET deadline_ms = ? WHERE id = ?').run(Date.now() - 3_660_000, id);
  batches.close();
  const client = openAi((await start('f'.repeat(44))).url, testKey);
  await until('it has ended', () => client.batches.retrieve(id).then(hasEnded, () => false));
  const { status, errors, output_file_id: output } = await client.batches.retrieve(id);
  assert.deepEqual([status, errors?.data?.[0]?.code, output], ['failed', 'secret_lost', null]);
  assert.match(errors!.data![0]!.message!, /sealed with another storage\.secret/);
});
