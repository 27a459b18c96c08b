import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';
import { readStream } from './read-answer.ts';

test('F39 SIGTERM under load: running streams finish, nothing is reset, and the process ends well', async (t) => {
  const { upstream, config } = await overOne(t);
  const { url, process: gateway } = await startGatewayProcess(t, config, { graceMs: 10_000 });
  await chatOnce(url);
  upstream.script('/v1/chat/completions', ['always tokens=60;interval=20ms']);
  const streams = Array.from({ length: 20 }, () => streamOnce(url));
  await upstream.when(() => upstream.requests().filter(({ method }) => method === 'POST').length >= 21);
  // It may be gone before the last answer is read.
  const exit = once(gateway, 'exit');
  gateway.kill('SIGTERM');
  for (const { text, dones, error } of await Promise.all(streams)) {
    assert.deepEqual([dones, error], [1, null]);
    assert.equal(text.split(' ').length, 60);
  }
  const [code] = await exit;
  assert.equal(code, 0);
});

test('F40 reloads of a broken file change nothing: no request fails; a good one counts at once', async (t) => {
  const { config } = await overOne(t);
  const { url, process: gateway, file, lives } = await startGatewayProcess(t, config);
  const good = readFileSync(file, 'utf8');
  let loading = true;
  const load = (async () => {
    const statuses: Record<number, number> = {};
    while (loading) {
      const { status } = await chatOnce(url);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    return statuses;
  })();
  for (let reload = 0; reload < 100; reload++) {
    writeFileSync(file, reload % 2 === 0 ? 'providers: [' : good.replace('models:', 'modles:'));
    gateway.kill('SIGHUP');
    assert.equal((await chatOnce(url)).status, 200);
  }
  loading = false;
  assert.deepEqual(Object.keys(await load), ['200']);
  assert.ok(lives());

  writeFileSync(file, good.replaceAll('chat:', 'renamed:'));
  gateway.kill('SIGHUP');
  await until('the good file counts', async () => (await chatOnce(url)).status === 404);
});

async function overOne(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return { upstream, config: overUpstreams(upstream.url) };
}

async function streamOnce(url: string) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return readStream(await response.text());
}
