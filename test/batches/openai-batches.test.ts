import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

const plans = {
  default: { windows: 'off', rpm: 'off' },
  narrow: { windows: 'off', rpm: 40, concurrency: 1 },
  short: { windows: { '5h': 5 }, rpm: 'off' },
  spent: { windows: { '5h': 1 }, rpm: 'off' },
  single: { windows: 'off', rpm: 'off', concurrency: 1 },
};
const narrowKey = 'sk-cv-test-key-narrow';
const shortKey = 'sk-cv-test-key-short';
const spentKeys = ['a', 'b', 'c', 'd'].map((name) => `sk-cv-test-key-spent-${name}`);
const singleKey = 'sk-cv-test-key-single';

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { chat: { type: 'openai', ...at }, claude: { type: 'anthropic', ...at } },
    models: {
      chat: { targets: ['chat/mock/ok'] },
      claude: { targets: ['claude/mock/ok'] },
      slow: { targets: ['chat/mock/delay=300ms'] },
      refusing: { targets: ['chat/mock/status=400'] },
      dear: { targets: [{ provider: 'chat', model: 'mock/ok', price: { input: 1_000, output: 1_000 } }] },
    },
    plans,
    accounts: {
      narrow: { plan: 'narrow' },
      short: { plan: 'short' },
      single: { plan: 'single', budgets: [{ model: 'dear', usd: 0.0001, window: 'month' }] },
      ...Object.fromEntries(spentKeys.map((key) => [key, { plan: 'spent' }])),
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
      { key: narrowKey, account: 'narrow', name: 'test' },
      { key: shortKey, account: 'short', name: 'test' },
      { key: singleKey, account: 'single', name: 'test' },
      ...spentKeys.map((key) => ({ key, account: key, name: 'test' })),
    ],
  },
);
const client = openAi(gateway.url, testKey);
const stranger = openAi(gateway.url, otherKey);

async function ended(lines: readonly string[], options?: { endpoint?: string; window?: string }, of = client) {
  const { id } = await beginBatch(of, lines, options);
  const batch = await batchWhen(of, id, hasEnded);
  const results = await resultsIn(of, batch.output_file_id);
  return { batch, results, errors: await resultsIn(of, batch.error_file_id) };
}

test('a batch answers its lines, over providers of other formats, under their names', async () => {
  const lines = [chatLine('a'), chatLine('b', { model: 'claude' }), chatLine('c')];
  const { batch, results, errors } = await ended(lines);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 3, completed: 3, failed: 0 });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    ['a', 'b', 'c'],
  );
  for (const { response, error } of results) {
    assert.equal(error, null);
    assert.equal(response!.status_code, 200);
    assert.equal(response!.body.object, 'chat.completion');
    const explained = await gateway.fetch(`/v1/requests/${response!.request_id}`);
    assert.equal(((await explained.json()) as JsonObject).units, 1);
  }
  for (const at of [batch.in_progress_at, batch.finalizing_at, batch.completed_at]) assert.ok(at! >= batch.created_at);
});

test('lines count for the end user in the header of their batch', async () => {
  const named = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: testKey,
    defaultHeaders: { 'x-culvert-user': 'ada' },
  });
  const { results } = await ended([chatLine('a')], {}, named);
  const headers = { authorization: `Bearer ${adminKey}` };
  const { data } = (await (await gateway.fetch('/admin/v1/requests?user=ada', { headers })).json()) as {
    data: JsonObject[];
  };
  assert.deepEqual(
    data.map(({ id }) => id),
    [results[0]!.response!.request_id],
  );
});

test('a wrong line fails alone, and says why', async () => {
  const lines = [
    chatLine('good'),
    '{"custom_id": "torn',
    JSON.stringify({ custom_id: 'elsewhere', method: 'POST', url: '/v1/embeddings', body: {} }),
    chatLine('good'),
    chatLine('stream', { stream: true }),
    chatLine('unknown', { model: 'nobody' }),
    chatLine('refused', { model: 'refusing' }),
    JSON.stringify({ method: 'POST', url: '/v1/chat/completions', body: {} }),
    '',
    chatLine('last'),
  ];
  const { batch, results, errors } = await ended(lines);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 9, completed: 2, failed: 7 });
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    ['good', 'last'],
  );
  assert.deepEqual(
    errors.map(({ custom_id, response, error }) => [custom_id, response?.status_code ?? error!.code]),
    [
      [null, 'invalid_request'],
      ['elsewhere', 'invalid_request'],
      ['good', 'invalid_request'],
      ['stream', 'invalid_request'],
      ['unknown', 404],
      ['refused', 400],
      [null, 'invalid_request'],
    ],
  );
  assert.match(errors[2]!.error!.message, /same custom_id/);
});

test('a line that is not valid UTF-8 fails, and no result has a character that ends lines for Python', async () => {
  const torn = Buffer.from(chatLine('torn', { user: '§' }), 'latin1');
  const breaks = chatLine('\u0085\u2028\u2029');
  const file = await client.files.create({ file: new File([torn, `\n${breaks}`], 'x'), purpose: 'batch' });
  const facts = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const { id } = await client.batches.create({ input_file_id: file.id, ...facts });
  const batch = await batchWhen(client, id, hasEnded);
  const text = await (await client.files.content(batch.output_file_id!)).text();
  assert.equal(JSON.parse(text).custom_id, '\u0085\u2028\u2029');
  assert.doesNotMatch(text, /[\u0085\u2028\u2029]/);
  const [error] = await resultsIn(client, batch.error_file_id);
  assert.match(error!.error!.message, /not valid UTF-8/);
});

test('lines may ask for responses, embeddings and messages', async () => {
  const line = (url: string, body: JsonObject) => JSON.stringify({ custom_id: url, method: 'POST', url, body });
  const asked: Record<string, [JsonObject, string]> = {
    '/v1/responses': [{ model: 'claude', input: 'Hello' }, 'response'],
    '/v1/embeddings': [{ model: 'culvert-lexical-1024', input: 'Hello' }, 'list'],
    '/v1/messages': [{ model: 'chat', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }, 'message'],
  };
  for (const [endpoint, [body, object]] of Object.entries(asked)) {
    const { results } = await ended([line(endpoint, body)], { endpoint });
    assert.equal(results[0]?.response?.body.object ?? results[0]?.response?.body.type, object, endpoint);
  }
});

test('a wrong request for a batch names its field', async () => {
  const { id } = await client.files.create({ file: new File(['{}'], 'x'), purpose: 'user_data' });
  const right = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const soonGone = await client.files.create({
    file: new File(['{}'], 'x'),
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 3_600 },
  });
  for (const [change, param] of [
    [{ input_file_id: 'file-none' }, 'input_file_id'],
    [{}, 'input_file_id'],
    [{ input_file_id: soonGone.id }, 'input_file_id'],
    [{ endpoint: '/v1/models' }, 'endpoint'],
    [{ completion_window: 'soon' }, 'completion_window'],
    [{ completion_window: '8d' }, 'completion_window'],
    [{ completion_window: '0s' }, 'completion_window'],
    [{ completion_window: { toString: 1 } }, 'completion_window'],
    [{ metadata: { a: 1 } }, 'metadata'],
    [{ output_expires_after: { anchor: 'created_at', seconds: 5 } }, 'output_expires_after.seconds'],
  ] as const) {
    const response = await gateway.fetch('/v1/batches', { json: { ...right, ...change } });
    assert.equal(response.status, 400, JSON.stringify(change));
    assert.equal(((await response.json()) as { error: { param: string } }).error.param, param);
  }
});

test('an empty file fails as a whole', async () => {
  const { batch } = await ended(['', '  ']);
  assert.equal(batch.status, 'failed');
  assert.equal(batch.errors!.data![0]!.code, 'empty_file');
});

test('a cancelled batch keeps what was answered, and says which lines were not', async () => {
  const count = 300;
  const asked = Array.from({ length: count }, (_, index) => chatLine(`${index}`, { model: 'slow' }));
  const { id } = await beginBatch(client, asked);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed > 0);
  assert.equal((await client.batches.cancel(id)).status, 'cancelling');
  const batch = await batchWhen(client, id, hasEnded);
  assert.equal(batch.status, 'cancelled');
  const results = await resultsIn(client, batch.output_file_id);
  const errors = await resultsIn(client, batch.error_file_id);
  assert.ok(results.length > 0 && errors.length > 0);
  assert.equal(results.length, batch.request_counts!.completed);
  assert.equal(results.length + errors.length, count);
  for (const { response, error } of errors) {
    assert.equal(response, null);
    assert.equal(error!.code, 'batch_cancelled');
  }
});

test('a line waits for a limit, and the rest expires with the window', async () => {
  const short = openAi(gateway.url, shortKey);
  const asked = Array.from({ length: 8 }, (_, index) => chatLine(`${index}`));
  const { batch, results, errors } = await ended(asked, { window: '2s' }, short);
  assert.equal(batch.status, 'expired');
  assert.equal(results.length, 5);
  assert.deepEqual(
    errors.map(({ error }) => error?.code),
    ['batch_expired', 'batch_expired', 'batch_expired'],
  );
});

test('a batch leaves a part of the calls a minute, and every place, to its key', async () => {
  const narrow = openAi(gateway.url, narrowKey);
  const asked = Array.from({ length: 60 }, (_, index) => chatLine(`${index}`, { model: 'slow' }));
  const { id } = await beginBatch(narrow, asked);
  await batchWhen(narrow, id, ({ request_counts: counts }) => counts!.completed > 2);
  // Its one place is free, and so is a quarter of its calls.
  const answer = await narrow.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] });
  assert.equal(answer.object, 'chat.completion');
  await narrow.batches.cancel(id);
  await batchWhen(narrow, id, hasEnded);
});

test('batches that wait for a limit of their key take no place from those of others', async () => {
  const begun: [OpenAI, string][] = [];
  for (const key of spentKeys) {
    const spent = openAi(gateway.url, key);
    await spent.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] });
    for (let count = 0; count < 26; count++) begun.push([spent, (await beginBatch(spent, [chatLine('a')])).id]);
  }
  for (const [spent, id] of begun) await batchWhen(spent, id, ({ status }) => status === 'in_progress');
  const { results } = await ended([chatLine('mine')]);
  assert.equal(results.length, 1);
  for (const [spent, id] of begun) await spent.batches.cancel(id);
});

test('a line whose model has spent its budget waits, and those of other models are answered', async () => {
  const single = openAi(gateway.url, singleKey);
  await single.chat.completions.create({ model: 'dear', messages: [{ role: 'user', content: 'Hi' }] });
  const asked = [0, 1, 2, 3].map((index) => chatLine(`${index}`, index % 2 === 0 ? { model: 'dear' } : {}));
  const { id } = await beginBatch(single, asked);
  await batchWhen(single, id, ({ request_counts: counts }) => counts!.completed === 2);
  await single.batches.cancel(id);
  const batch = await batchWhen(single, id, hasEnded);
  const errors = await resultsIn(single, batch.error_file_id);
  assert.deepEqual(
    errors.map(({ custom_id }) => custom_id),
    ['0', '2'],
  );
});

test('batches of one key do not exist for another', async () => {
  const { batch } = await ended([chatLine('mine')]);
  await assert.rejects(stranger.batches.retrieve(batch.id), { status: 404 });
  await assert.rejects(stranger.batches.cancel(batch.id), { status: 404 });
  await assert.rejects(stranger.files.content(batch.output_file_id!), { status: 404 });
  const listed: string[] = [];
  for await (const { id } of client.batches.list({ limit: 2 })) listed.push(id);
  assert.ok(listed.includes(batch.id));
  assert.deepEqual(listed, listed.toSorted().toReversed());
  assert.deepEqual((await stranger.batches.list()).data, []);
});

test('a batch that is begun again with the same Idempotency-Key is the first one', async () => {
  const { input_file_id, id: before } = await beginBatch(client, [chatLine('once')]);
  const begin = async (key: string, fields: JsonObject = {}) => {
    const json = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h', ...fields };
    const answer = await gateway.fetch('/v1/batches', { json, headers: { 'idempotency-key': key } });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as JsonObject };
  };
  assert.equal((await begin('batch-1', { completion_window: 'soon' })).status, 400, 'a refusal leaves the key free');
  const first = await begin('batch-1');
  const again = await begin('batch-1');
  assert.deepEqual([first.status, again.status], [200, 200]);
  assert.deepEqual(again.body, first.body);
  assert.equal(again.headers.get('x-culvert-idempotent-replay'), first.headers.get('x-culvert-request-id'));
  assert.equal((await begin('batch-1', { metadata: { a: 'b' } })).status, 409);
  assert.equal((await begin('x'.repeat(256))).status, 400);
  const other = await begin('batch-2');
  const { data } = await client.batches.list();
  assert.deepEqual(
    data.filter((batch) => batch.input_file_id === input_file_id).map(({ id }) => id),
    [other.body.id, first.body.id, before],
  );
});
