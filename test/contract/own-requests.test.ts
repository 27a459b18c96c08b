import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

const secondKey = 'sk-cv-second-key-of-the-account-dev';
const upstream = await startUpstream();
after(() => upstream.close());
const { providers, models } = overUpstreams(upstream.url) as { providers: object; models: object };
const gateway = await startGateway(
  { after: after as never },
  {
    providers,
    models: { ...models, secretive: { targets: ['up1/mock-secretive'] } },
    plans: { small: { models: ['chat'] } },
    accounts: { dev: { plan: 'small' } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: secondKey, account: 'dev', name: 'second' },
      { key: otherKey, account: 'rivals', name: 'rivals-key' },
    ],
  },
);
const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const chat = (key: string, model: string) =>
  gateway.fetch('/v1/chat/completions', { ...as(key), json: { model, messages: [{ role: 'user', content: 'Hi' }] } });

interface Own {
  data: { model: string; status: number; class: string; account?: string; route: { refused?: { message: string } } }[];
  next_cursor: string | null;
}
const listed = async (key: string, query = '') =>
  (await (await gateway.fetch(`/v1/requests${query}`, as(key))).json()) as Own;

test('a key lists its requests, refused ones with the reason, and nothing of another key', async () => {
  assert.equal((await chat(testKey, 'chat')).status, 200);
  assert.equal((await chat(testKey, 'secretive')).status, 403);
  assert.equal((await chat(secondKey, 'chat')).status, 200);
  assert.equal((await chat(otherKey, 'secretive')).status, 200);
  await until('both are in the ledger', async () => (await listed(testKey)).data.length === 2);
  const { data } = await listed(testKey);
  assert.deepEqual(
    data.map(({ model, status }) => [model, status]),
    [
      ['secretive', 403],
      ['chat', 200],
    ],
  );
  assert.match(data[0]?.route.refused?.message ?? '', /secretive/);
  assert.deepEqual(
    (await listed(testKey, '?class=ok')).data.map(({ model }) => model),
    ['chat'],
  );
  assert.deepEqual(
    (await listed(testKey, '?class=failed')).data.map(({ status }) => status),
    [403],
  );
  const first = await listed(testKey, '?limit=1');
  assert.equal(first.data[0]?.model, 'secretive');
  const second = await listed(testKey, `?limit=1&cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
  assert.deepEqual(
    second.data.map(({ model }) => model),
    ['chat'],
  );
  for (const key of [secondKey, otherKey]) assert.equal((await listed(key)).data.length, 1);
});

test('requests that name a session are found by it, by the header of a coding assistant too', async () => {
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] };
  for (const named of [{ 'x-culvert-session': 'run-7' }, { 'x-claude-code-session-id': 'run-7' }, {}]) {
    const headers = { authorization: `Bearer ${secondKey}`, ...named };
    assert.equal((await gateway.fetch('/v1/chat/completions', { headers, json })).status, 200);
  }
  await until('all are in the ledger', async () => (await listed(secondKey, '?session=run-7')).data.length === 2);
  const { data } = await listed(secondKey);
  assert.deepEqual(
    data.slice(0, 3).map((row) => (row as { session?: string | null }).session),
    [null, 'run-7', 'run-7'],
  );
  assert.deepEqual((await listed(testKey, '?session=run-7')).data, [], "another key's");
});

test('what is wrong with the query is said at its parameter', async () => {
  for (const [query, param] of [
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?class=x', 'class'],
    ['?cursor=x', 'cursor'],
  ] as const) {
    const response = await gateway.fetch(`/v1/requests${query}`, as(testKey));
    assert.equal(response.status, 400, query);
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
});
