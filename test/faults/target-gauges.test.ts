import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

test('a target that fails and one that is limited show in the metrics, though callers get their answers', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  // Credentials of their own: a limit holds for every use of one of them.
  const provider = (key: string) => ({ type: 'openai', base_url: `${upstream.url}/v1`, api_key: key });
  const gateway = await startGateway(t, {
    providers: {
      good: provider('good-key'),
      limited: provider('limited-key'),
      broken: { ...provider('broken-key'), base_url: `http://127.0.0.1:${await closedPort()}/v1` },
    },
    models: Object.fromEntries(
      ['broken/gone', 'limited/mock/status=429;retry-after=60'].map((first) => [
        first.split('/')[0],
        { targets: [first, { provider: 'good', model: 'mock/ok', priority: 2 }] },
      ]),
    ),
  });
  const series = async () => {
    const answer = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
    return (await answer.text()).split('\n');
  };
  const ask = async (model: string) => {
    const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  };
  await ask('limited');
  const closed = 'culvert_target_closed{target="broken/gone"} 1';
  for (let asked = 0; !(await series()).includes(closed); asked += 1) {
    assert.ok(asked < 50, 'the failing target is not closed out');
    await ask('broken');
  }
  const lines = await series();
  for (const line of [
    'culvert_target_limited{target="limited/mock/status=429;retry-after=60"} 1',
    'culvert_failed_attempts_total{target="limited/mock/status=429;retry-after=60",class="rate_limited"} 1',
    'culvert_target_closed{target="good/mock/ok"} 0',
    'culvert_target_running{target="good/mock/ok"} 0',
  ])
    assert.ok(lines.includes(line), `${line}\n${lines.filter((one) => one.includes('target')).join('\n')}`);
});
