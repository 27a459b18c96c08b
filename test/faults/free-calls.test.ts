import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('Free endpoints count against rpm: a flood of them is refused, 25 count_tokens at once are not', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    plans: { default: { windows: 'off', rpm: 2, concurrency: 1 } },
  });
  await gateway.modelsKnown;
  const messages = [{ role: 'user', content: 'Hello' }];
  const status = async (path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const answer = await gateway.fetch(path, json === undefined ? { headers } : { json, headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  const counting = Array.from({ length: 25 }, () => status('/v1/messages/count_tokens', { model: 'chat', messages }));
  assert.deepEqual([...new Set(await Promise.all(counting))], [200]);
  const usage = await gateway.fetch('/v1/usage');
  assert.equal(((await usage.json()) as { rpm: { used: number } }).rpm.used, 0, 'no call that costs is held up');

  const chats: number[] = [];
  for (let at = 0; at < 3; at += 1) chats.push(await status('/v1/chat/completions', { model: 'chat', messages }));
  assert.deepEqual(chats, [200, 200, 429]);

  // A caller that has spent it can still look, but not for ever.
  let passed = 26;
  while (passed < 100 && (await status('/v1/models')) === 200) passed += 1;
  assert.equal(passed, 2 * 20);
  const refused = await gateway.fetch('/v1/usage');
  assert.equal(refused.status, 429);
  assert.equal(((await refused.json()) as { error: { limit: string } }).error.limit, 'free');
  assert.equal(await status('/v1/models', undefined, { authorization: `Bearer ${otherKey}` }), 200, 'others go on');
});
