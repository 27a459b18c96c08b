import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a background response that a limit refuses is found among the requests, with the limit', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const plans = { default: { windows: { month: 1 }, rpm: 'off' } };
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), plans });
  const json = { model: 'chat', input: 'Hi', background: true };
  const rows = [];
  for (const expected of ['completed', 'failed']) {
    const answer = await gateway.fetch('/v1/responses', { json });
    let { id, status } = (await answer.json()) as { id: string; status: string };
    while (/queued|in_progress/.test(status))
      ({ status } = (await (await gateway.fetch(`/v1/responses/${id}`)).json()) as { status: string });
    assert.equal(status, expected);
    const row = await gateway.fetch(`/v1/requests/${answer.headers.get('x-culvert-request-id')}`);
    rows.push((await row.json()) as { status: number; class: string; endpoint: string; alias: string });
  }
  const [answered, refused] = rows.map(({ status, class: kind, endpoint }) => [status, kind, endpoint]);
  assert.deepEqual(answered, [200, 'ok', 'responses']);
  assert.deepEqual(refused, [429, 'quota-exceeded', 'responses']);
});
