import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a reload keeps what is known of a target at endpoints other than that of its conversations', async (t) => {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all(upstreams.map((upstream) => upstream.close())));
  const [bad, good] = upstreams as [(typeof upstreams)[0], (typeof upstreams)[0]];
  bad.script('/v1/completions', ['always status=401']);
  const config = (units: number) => ({
    providers: Object.fromEntries(
      Object.entries({ bad, good }).map(([name, { url }]) => [
        name,
        { type: 'openai', base_url: `${url}/v1`, api_key: 'k' },
      ]),
    ),
    models: {
      m: {
        cost: units,
        targets: [
          { provider: 'bad', model: 'mock/ok' },
          { provider: 'good', model: 'mock/ok', priority: 2 },
        ],
      },
    },
  });
  const gateway = await startGateway(t, config(1));
  const ask = async () => {
    const response = await gateway.fetch('/v1/completions', { json: { model: 'm', prompt: 'Hi' } });
    assert.equal(response.status, 200, await response.text());
    return response.headers.get('x-culvert-attempts');
  };
  assert.equal(await ask(), '2', 'the first one refuses its credential');
  await workersKnow();
  assert.equal(await ask(), '1', 'it rests');
  await gateway.reload(config(2));
  assert.equal(await ask(), '1', 'and still does');
});
