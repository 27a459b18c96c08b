import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('F70 a model of which no target answers is an alert: a line at error, a metric, and both when it is back', async (t) => {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all(upstreams.map((upstream) => upstream.close())));
  const logged = new PassThrough();
  const said: string[] = [];
  logged.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n')) {
      const { level, msg } = JSON.parse(line) as { level: number; msg: string };
      if (msg.startsWith('model')) said.push(`${level} ${msg}`);
    }
  });
  const config = overUpstreams(...upstreams.map(({ url }) => url));
  const { chat } = config.models as { chat: unknown };
  const gateway = await startGateway(
    t,
    { ...config, models: { chat, other: { targets: [{ provider: 'up1', model: 'mock/tokens=3' }] } } },
    { log: pino({ level: 'info' }, logged) },
  );
  await gateway.modelsKnown;
  const ask = async () => {
    const answer = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { 'x-culvert-timeout': '2s' },
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const gauge = async (model: string) => {
    const answer = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
    return new RegExp(`^culvert_model_down{model="${model}"} (\\d)$`, 'm').exec(await answer.text())?.[1];
  };
  const until = async (done: () => boolean) => {
    const deadlineMs = performance.now() + 8_000;
    while (!done() && performance.now() < deadlineMs) {
      await ask();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  assert.equal(await ask(), 200);
  assert.equal(await gauge('chat'), '0');
  for (const upstream of upstreams) upstream.script('/v1/chat/completions', ['always status=500']);
  await until(() => said.length > 0);
  assert.deepEqual(said, ["50 model 'chat' is down: no target answers"]);
  assert.equal(await gauge('chat'), '1');
  assert.equal(await gauge('other'), '0');
  for (const upstream of upstreams) upstream.script('/v1/chat/completions', ['always ok']);
  await until(() => said.length > 1);
  assert.deepEqual(said.slice(1), ["40 model 'chat' is back"]);
  assert.equal(await gauge('chat'), '0');
});
