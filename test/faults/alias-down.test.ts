import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { pino } from 'pino';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const down = "50 model 'chat' is down: no target answers";
const back = "40 model 'chat' is back";

test('F70 a model of which no target answers is an alert: a line at error, a metric, and both when it is back', async (t) => {
  const { upstreams, said, ask, gauge, until } = await start(t);
  assert.equal(await ask(), 200);
  assert.equal(await gauge('chat'), '0');
  for (const upstream of upstreams) upstream.script('/v1/chat/completions', ['always status=500']);
  // Few enough that no lane is closed: requests alone tell it.
  for (let failed = 0; failed < 3; failed++) assert.equal(await ask(), 502);
  await until(() => said.length > 0);
  assert.deepEqual(said, [down]);
  assert.equal(await gauge('chat'), '1');
  assert.equal(await gauge('other'), '0');
  for (const upstream of upstreams) upstream.script('/v1/chat/completions', ['always ok']);
  await until(async () => (await ask()) === 200 && said.length > 1);
  assert.deepEqual(said.slice(1), [back]);
  assert.equal(await gauge('chat'), '0');
});

test('F70 a model that nobody asks is one too, once the health checks of all its targets fail', async (t) => {
  const { upstreams, said, gauge, until } = await start(t, { health: { path: '/models', interval: '1s' } });
  for (const upstream of upstreams) upstream.script('/v1/models', ['always status=500']);
  await until(() => said.length > 0);
  assert.deepEqual(said, [down]);
  assert.equal(await gauge('chat'), '1');
  for (const upstream of upstreams) upstream.script('/v1/models', ['always ok']);
  await until(() => said.length > 1);
  assert.deepEqual(said.slice(1), [back]);
  assert.equal(await gauge('chat'), '0');
});

/** `provider`: what both providers of `chat` are configured with beside their addresses. */
async function start(t: TestContext, provider: Record<string, unknown> = {}) {
  const upstreams = await Promise.all([startUpstream(), startUpstream(), startUpstream()]);
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
  const { up1, up2, up3 } = config.providers as Record<string, object>;
  const gateway = await startGateway(
    t,
    {
      providers: { up1: { ...up1, ...provider }, up2: { ...up2, ...provider }, up3 },
      models: { chat: { targets: ['up1/mock/ok', 'up2/mock/ok'] }, other: { targets: ['up3/mock/ok'] } },
    },
    { log: pino({ level: 'info' }, logged) },
  );
  await gateway.modelsKnown;
  return {
    upstreams: upstreams.slice(0, 2),
    said,
    async ask() {
      const answer = await gateway.fetch('/v1/chat/completions', {
        json: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
        headers: { 'x-culvert-timeout': '2s' },
      });
      await answer.arrayBuffer();
      return answer.status;
    },
    async gauge(model: string) {
      const answer = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
      return new RegExp(`^culvert_model_down{model="${model}"} (\\d)$`, 'm').exec(await answer.text())?.[1];
    },
    async until(holds: () => boolean | Promise<boolean>) {
      const deadlineMs = performance.now() + 15_000;
      while (!(await holds())) {
        assert.ok(performance.now() < deadlineMs, 'it did not come about in 15 s');
        await after(50);
      }
    },
  };
}
