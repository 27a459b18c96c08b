import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];

test('a credential that its provider refuses is told as what it is: no retry helps, the operator must act', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: { stale: provider, busy: provider },
    models: { refused: { targets: ['stale/mock'] }, mixed: { targets: ['stale/mock-401', 'busy/mock-503'] } },
  });
  await gateway.modelsKnown;
  const failing = async (model: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    assert.equal(answer.status, 502);
    const { error } = (await answer.json()) as { error: { message: string } };
    return { retry: answer.headers.get('x-should-retry'), after: answer.headers.get('retry-after'), ...error };
  };
  for (const status of [401, 403]) {
    upstream.script('*', [`status=${status}`]);
    const { message, retry, after } = await failing('refused');
    assert.match(message, /A retry does not help: the operator must change the credential of provider stale\.$/);
    assert.deepEqual([retry, after], ['false', null]);
  }
  // Another provider may have recovered by then.
  upstream.script('*', Array(8).fill('status=503'));
  const { message, retry } = await failing('mixed');
  assert.match(message, /This is transient: retry the request\.$/);
  assert.equal(retry, 'true');
});
