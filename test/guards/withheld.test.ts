import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startOtlpReceiver } from '../telemetry/otlp-receiver.ts';
import { until } from '../until.ts';

const mail = 'jo.doe@example.org';

test('what a guard masks or blocks is in no log and no trace, also of keys whose bodies are logged', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  let log = '';
  const write = (line: string) => {
    log += line;
  };
  const guard = (action: string) => ({ check: 'personal-data', kinds: ['email'], action });
  const model = (guards: string[]) => ({ targets: ['up/mock/ok'], guards });
  const named = ['dev/test'];
  const gateway = await startGateway(
    t,
    {
      telemetry: { log: { bodies: named }, otlp: { endpoint: receiver.url, content: named } },
      providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
      guards: { masks: guard('mask'), blocks: guard('block') },
      models: { plain: model([]), masks: model(['masks']), blocks: model(['blocks']) },
    },
    { log: pino({ base: null }, { write }) },
  );
  const ask = async (name: string, content: string) => {
    const json = { model: name, messages: [{ role: 'user', content }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    return { status: response.status, text: await response.text() };
  };
  const masked = await ask('masks', `Write to ${mail}`);
  assert.equal(masked.status, 200);
  assert.ok(masked.text.includes(mail), 'its caller gets it back');
  assert.equal((await ask('blocks', `Write to ${mail}`)).status, 400);
  // A request that no guard touches is logged as ever.
  await ask('masks', 'nothing personal');
  await until('three lines', () => log.split('"msg":"bodies"').length === 4);
  const spans = await receiver.when(2, ({ name }) => name === 'chat mock/ok');
  for (const text of [log, JSON.stringify(spans)]) {
    assert.ok(!text.includes(mail), text);
    assert.match(text, /nothing personal/);
  }
  assert.equal(log.split('[withheld: a guard changed or refused this request]').length, 5);
});
