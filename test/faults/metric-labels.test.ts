import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('S29 made-up model names under a pattern make no series: labels come from the configuration', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: {
      chat: { targets: [{ provider: 'up', model: 'mock/ok' }] },
      'claude-*': { targets: [{ provider: 'up', model: 'made-*' }] },
    },
  });
  await gateway.modelsKnown;
  const messages = [{ role: 'user', content: 'Hello' }];
  const ask = async (json: Record<string, unknown>) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { messages, ...json } });
    await answer.arrayBuffer();
    return answer.status;
  };
  const scrape = async () => {
    const answer = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
    return (await answer.text()).split('\n').filter((line) => line.startsWith('culvert_'));
  };
  assert.equal(await ask({ model: 'chat' }), 200);
  assert.equal(await ask({ model: 'claude-0' }), 200);
  assert.equal(await ask({ model: 'nobody-0' }), 404);
  const before = await scrape();
  for (let sent = 0; sent < 300; sent += 10) {
    const statuses = await Promise.all(
      Array.from({ length: 10 }, (_, at) => [
        ask({ model: `claude-${sent + at}` }),
        ask({ model: `nobody-${sent + at}` }),
        // The second of them answers when the first cannot.
        ask({ model: 'chat', models: [`claude-again-${sent + at}`] }),
      ]).flat(),
    );
    assert.deepEqual([...new Set(statuses)].sort(), [200, 404]);
  }
  const after = await scrape();
  const names = (lines: string[]) => lines.map((line) => line.slice(0, line.lastIndexOf(' '))).sort();
  assert.deepEqual(names(after), names(before));
  const asked = 'culvert_requests_total{endpoint="chat",model="claude-*",target="up/made-*",status="200",class="ok"}';
  assert.ok(after.includes(`${asked} 301`), after.filter((line) => line.startsWith('culvert_requests')).join('\n'));
});

test('a dated Claude, which its provider names otherwise, counts for the pattern that made it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { 'claude-*': { targets: [{ provider: 'claude', model: 'claude-haiku-4-5@*' }] } },
  });
  const json = { model: 'claude-20251001', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await gateway.fetch('/v1/messages', { json });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal((upstream.requests().at(-1)!.body as { model: string }).model, 'claude-haiku-4-5-20251001');
  const metrics = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  assert.match(await metrics.text(), /culvert_requests_total\{[^}]*target="claude\/claude-haiku-4-5@\*"/);
});
