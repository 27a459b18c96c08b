import assert from 'node:assert/strict';
import { adminKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, chat, inOnly, overBoth, startProcesses } from './start-processes.ts';

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
