import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, chat, embedded, inOnly, overBoth, startProcesses } from './start-processes.ts';

overBoth('a change by an operator is in force on every worker when it is answered', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url, { accounts: { dev: {} } });
  const admin = async (path: string, body: object) => {
    const { status, text } = await ask(gateway.url, `/admin/v1${path}`, body, adminKey);
    assert.ok(status < 300, text);
    return JSON.parse(text) as { id: string; key: string };
  };
  // Connections go to the workers in turn.
  const statuses = async (key: string, model: string) => {
    const answers = [];
    for (let turn = 0; turn < 4; turn += 1)
      answers.push((await ask(gateway.url, '/v1/chat/completions', { ...chat, model }, key)).status);
    return [...new Set(answers)];
  };
  for (let round = 0; round < 5; round += 1) {
    const { id, key } = await admin('/keys', { account: 'dev', name: `key ${round}` });
    assert.deepEqual(await statuses(key, 'chat'), [200], 'a new key opens every worker');
    await admin('/models', { id: `model-${round}`, targets: ['up1/mock/ok'] });
    assert.deepEqual(await statuses(key, `model-${round}`), [200], 'a new model is there on every worker');
    await admin(`/keys/${id}/revoke`, {});
    assert.deepEqual(await statuses(key, 'chat'), [401], 'a revoked key opens none');
  }

  // A worker that hangs holds up no operator for long.
  const [first] = gateway.workers() as [number];
  const startedMs = performance.now();
  await inOnly(first, () => admin('/keys', { account: 'dev', name: 'while one hangs' }));
  assert.ok(performance.now() - startedMs < 15_000);
});

test('a new secret of the data folder is known to every worker, and so is that the old one was forgotten', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, embedded, upstream.url);
  const ok = async (path: string, body?: object, key?: string) => {
    const { status, text } = await ask(gateway.url, path, body, key);
    assert.ok(status < 300, text);
    return JSON.parse(text) as { id: string };
  };
  const admin = (path: string, body: object) => ok(`/admin/v1${path}`, body, adminKey);
  await admin('/providers', { name: 'made', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'sk-of-made-1' });
  await admin('/models', { id: 'made', targets: ['made/mock/ok'] });
  const kept: string[] = [];
  // Connections go to the workers in turn.
  const onEveryWorker = async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      await ok('/v1/chat/completions', { ...chat, model: 'made' });
      kept.push((await ok('/v1/responses', { model: 'chat', input: 'Hello' })).id);
    }
    for (const id of kept) for (let turn = 0; turn < 2; turn += 1) await ok(`/v1/responses/${id}`);
  };
  await onEveryWorker();
  for (const round of [1, 2]) {
    await admin('/secret/rotate', {});
    await admin('/providers', {
      name: `more-${round}`,
      type: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      api_key: 'k',
    });
    await onEveryWorker();
  }
  await admin('/secret/rotate', { forget: true });
  const forgotten = kept.splice(0);
  await onEveryWorker();
  for (const id of forgotten)
    for (let turn = 0; turn < 2; turn += 1)
      assert.equal((await ask(gateway.url, `/v1/responses/${id}`)).status, 404, 'what was forgotten opens nowhere');
});
