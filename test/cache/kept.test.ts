import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startMessages } from '../prompt-cache/messages-upstream.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './formats.ts';

test('answers are in cache.db, operators see and remove them, and a deleted file is a miss', async (t) => {
  const upstream = await startUpstream();
  t.after(upstream.close);
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h' } },
      plain: { targets: [{ provider: 'up', model: 'mock/ok' }] },
    },
  });
  const file = join(gateway.dataDir, 'cache.db');
  const admin = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await fetch(`${gateway.url}/admin/v1${path}`, { method, headers });
    assert.equal(answer.status, 200, path);
    return (await answer.json()) as { entries: number; cleared: number; data: { model: string }[] };
  };
  const asked = async (text: string) => (await ask(gateway, 'chat', { text, model: 'chat' })).cache;

  await ask(gateway, 'chat', { text: 'one', model: 'plain' });
  assert.equal((await admin('GET', '/cache')).entries, 0);

  assert.equal(await asked('one'), 'miss');
  await until('an answer is kept', async () => (await admin('GET', '/cache')).entries === 1);
  assert.match(String(await asked('one')), /^hit/);
  assert.deepEqual((await admin('GET', '/cache')).data[0]?.model, 'chat');
  assert.equal((await admin('DELETE', '/cache?model=chat')).cleared, 1);
  assert.equal(await asked('one'), 'miss');
  await until('an answer is kept', async () => (await admin('GET', '/cache')).entries === 1);

  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
  assert.equal((await admin('GET', '/cache')).entries, 0, 'it was made anew');
  // Another process sees it within a second.
  await until('a miss', async () => (await asked('one')) === 'miss');
  await until('an answer is kept', async () => (await admin('GET', '/cache')).entries === 1);
  assert.match(String(await asked('one')), /^hit/);
});

test('a server without cached models has no file, and a reload makes it', async (t) => {
  const upstream = await startUpstream();
  t.after(upstream.close);
  const providers = { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } };
  const chat = { targets: [{ provider: 'up', model: 'mock/ok' }] };
  const gateway = await startGateway(t, { providers, models: { chat } });
  const file = join(gateway.dataDir, 'cache.db');
  assert.equal((await ask(gateway, 'chat')).status, 200);
  assert.ok(!existsSync(file));
  await gateway.reload({ providers, models: { chat: { ...chat, cache: { ttl: '1h' } } } });
  assert.ok(existsSync(file));
});

test('the first request after a restart finds what was kept', async (t) => {
  const upstream = await startUpstream();
  t.after(upstream.close);
  const config = {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h' } } },
    storage: { data_dir: join(temporaryFolder(t), 'data') },
  };
  const before = await startGateway(t, config);
  assert.equal((await ask(before, 'chat')).cache, 'miss');
  await before.close(0);
  const gateway = await startGateway(t, config);
  const kept = await ask(gateway, 'chat', { headers: { 'x-culvert-cache': 'only' } });
  assert.deepEqual([kept.status, kept.cache], [200, 'hit'], kept.body);
});

test('several choices that are calls each are no answer to keep: one of them may fail, or come from elsewhere', async (t) => {
  const claude = await startMessages(t);
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `${claude.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: [{ provider: 'claude', model: 'claude-sonnet-4-5' }], cache: { ttl: '1h' } } },
  });
  const asked = (n: number) => ask(gateway, 'chat', { text: 'choices', more: { n } });
  for (let turn = 0; turn < 2; turn += 1) {
    const two = await asked(2);
    assert.deepEqual([two.cache, JSON.parse(two.body).choices.length], ['miss', 2], two.body);
  }
  assert.equal((await asked(1)).cache, 'miss');
  assert.equal((await asked(1)).cache, 'hit');
});
