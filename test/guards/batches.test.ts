import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from '../batches/world.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startModel } from './start-model.ts';

/* Each line of a batch passes the guards of its model, as if its caller had asked. */

const own = 'jo.doe@example.org';
const made = 'made.up@example.net';
const upstream = await startModel(after);
beforeEach(() => {
  upstream.bodies.length = 0;
  upstream.says = (body) => `To ${/<EMAIL_\d>/.exec(body)?.[0] ?? own}, or ${made}`;
});
const guard = { check: 'personal-data', kinds: ['email'] };
const guarded = (name: string) => ({ targets: [{ provider: 'openai', model: 'm' }], guards: [name] });
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
    guards: { masks: { ...guard, action: 'mask' }, blocks: { ...guard, action: 'block', on: ['input'] } },
    models: { masks: guarded('masks'), blocks: guarded('blocks') },
  },
);
const client = openAi(gateway.url, testKey);

for (const [endpoint, bodyOf] of [
  ['/v1/chat/completions', (content: string) => ({ messages: [{ role: 'user', content }] })],
  ['/v1/responses', (input: string) => ({ messages: undefined, input })],
] as const) {
  test(`lines for ${endpoint} are masked, given back, and refused one by one`, async () => {
    const lines = [
      chatLine('a', { model: 'masks', ...bodyOf(`Write to ${own}`) }),
      chatLine('b', { model: 'blocks', ...bodyOf(`Write to ${own}`) }),
      chatLine('c', { model: 'blocks', ...bodyOf('Write to nobody') }),
    ].map((line) => line.replace('/v1/chat/completions', endpoint));
    const { id } = await beginBatch(client, lines, { endpoint });
    const batch = await batchWhen(client, id, hasEnded);
    assert.deepEqual(batch.request_counts, { total: 3, completed: 2, failed: 1 }, JSON.stringify(batch));
    const results = new Map(
      (await resultsIn(client, batch.output_file_id)).map((line) => [line.custom_id, JSON.stringify(line)]),
    );
    const refused = JSON.stringify(await resultsIn(client, batch.error_file_id));
    assert.ok(results.get('a')?.includes(`To ${own}, or <EMAIL_2>`), results.get('a'));
    assert.ok(results.get('c')?.includes(`To ${own}, or ${made}`), results.get('c'));
    assert.match(refused, /guard_blocked/);
    assert.ok(!refused.includes(own), refused);
    assert.equal(upstream.bodies.length, 2);
    for (const body of upstream.bodies) assert.ok(!body.includes(own), body);
  });
}
