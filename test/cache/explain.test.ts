import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway, testProcesses } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, formats } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const target = { targets: [{ provider: 'up', model: 'mock/ok' }] };
const config = (cost: number) => ({
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { chat: { ...target, cache: { ttl: '1h', scope: 'all' }, cost }, plain: target },
});
const gateway = await startGateway({ after } as TestContext, config(1));

async function explained(more: object, endpoint: 'chat' | 'responses' = 'chat', model = 'chat') {
  const body = { model, ...formats[endpoint].body('explain'), ...more };
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch('/admin/v1/explain', { json: { endpoint, body }, headers });
  return ((await response.json()) as { cache: unknown }).cache;
}

const comparesAlone = testProcesses > 1 && 'each worker compares with the requests that it answered';

test('explain says whether a kept answer would come, or which field makes the request another one', {
  skip: comparesAlone,
}, async () => {
  assert.deepEqual(await explained({}), { outcome: 'miss', age_s: null, differs: null });
  await ask(gateway, 'chat', { text: 'explain' });
  const outcome = async () => ((await explained({})) as { outcome: string }).outcome;
  await until('the answer is written', async () => (await outcome()) === 'hit');
  assert.deepEqual(await explained({}), { outcome: 'hit', age_s: 0, differs: null });
  assert.deepEqual(await explained({}, 'responses'), { outcome: 'hit', age_s: 0, differs: null });
  const warmer = { outcome: 'miss', age_s: null, differs: ['temperature'] };
  assert.deepEqual(await explained({ temperature: 1 }), warmer);
  const both = { outcome: 'miss', age_s: null, differs: ['messages', 'seed'] };
  assert.deepEqual(await explained({ seed: 1, messages: [{ role: 'user', content: 'else' }] }), both);
  assert.deepEqual(await explained({ store: true }, 'responses'), { outcome: 'bypass', age_s: null, differs: null });
  assert.equal(await explained({}, 'chat', 'plain'), null);
  await gateway.reload(config(3));
  const other = { outcome: 'miss', age_s: null, differs: ['configuration of the model'] };
  assert.deepEqual(await explained({}), other);
});
