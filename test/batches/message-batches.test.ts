import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type Anthropic from '@anthropic-ai/sdk';
import { otherKey, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { anthropic } from './world.ts';

const aloneKey = 'sk-cv-test-key-alone';
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
      late: { targets: ['chat/mock/delay=1m'] },
      refusing: { targets: ['chat/mock/status=400'] },
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
      { key: aloneKey, account: 'alone', name: 'test' },
    ],
  },
);
const client = anthropic(gateway.url, testKey);
const stranger = anthropic(gateway.url, otherKey);

function request(customId: string, model = 'chat') {
  const messages = [{ role: 'user' as const, content: `Hello "${customId}" \\ {[` }];
  return { custom_id: customId, params: { model, max_tokens: 50, messages } };
}

type Batch = Anthropic.Messages.MessageBatch;

async function batchWhen(id: string, is: (batch: Batch) => boolean, by = client): Promise<Batch> {
  for (;;) {
    const batch = await by.messages.batches.retrieve(id);
    if (is(batch)) return batch;
    await pause(50);
  }
}

const hasEnded = ({ processing_status: status }: Batch) => status === 'ended';

async function resultsOf(id: string) {
  const results: Anthropic.Messages.MessageBatchIndividualResponse[] = [];
  for await (const result of await client.messages.batches.results(id)) results.push(result);
  return results;
}

test("a batch of messages answers its requests by Anthropic's SDK, over providers of other formats", async () => {
  const requests = [request('a'), request('b', 'claude'), request('c', 'refusing'), request('d', 'nobody')];
  const begun = await client.messages.batches.create({ requests });
  assert.equal(begun.type, 'message_batch');
  assert.equal(begun.results_url, null);
  const batch = await batchWhen(begun.id, hasEnded);
  assert.deepEqual(batch.request_counts, { processing: 0, succeeded: 2, errored: 2, canceled: 0, expired: 0 });
  const results = await resultsOf(begun.id);
  assert.deepEqual(
    results.map(({ custom_id, result }) => [custom_id, result.type]),
    [
      ['a', 'succeeded'],
      ['b', 'succeeded'],
      ['c', 'errored'],
      ['d', 'errored'],
    ],
  );
  const [first, , , last] = results.map(({ result }) => result);
  assert.ok(first!.type === 'succeeded' && first!.message.type === 'message');
  assert.ok(last!.type === 'errored' && last!.error.error.type === 'not_found_error');
});

test('a batch of messages is listed both ways, and deleted once it has ended', async () => {
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const { id } = await client.messages.batches.create({ requests: [request(name)] });
    await batchWhen(id, hasEnded);
    ids.unshift(id);
  }
  const page = await client.messages.batches.list({ limit: 2 });
  assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [ids.slice(0, 2), true]);
  const next = await client.messages.batches.list({ limit: 1, after_id: ids[1]! });
  assert.deepEqual(
    next.data.map(({ id }) => id),
    [ids[2]],
  );
  const back = await client.messages.batches.list({ limit: 1, before_id: ids[2]! });
  assert.deepEqual(
    back.data.map(({ id }) => id),
    [ids[1]],
  );
  assert.deepEqual(await client.messages.batches.delete(ids[0]!), { id: ids[0], type: 'message_batch_deleted' });
  await assert.rejects(client.messages.batches.retrieve(ids[0]!), { status: 404 });
});

test('a cancelled batch of messages says which requests were not asked', async () => {
  const requests = Array.from({ length: 200 }, (_, index) => request(`${index}`, 'slow'));
  const { id } = await client.messages.batches.create({ requests });
  await assert.rejects(client.messages.batches.delete(id), { status: 400 });
  await batchWhen(id, ({ request_counts: counts }) => counts.succeeded > 0);
  assert.equal((await client.messages.batches.cancel(id)).processing_status, 'canceling');
  const batch = await batchWhen(id, hasEnded);
  const counts = batch.request_counts;
  assert.ok(counts.canceled > 0);
  assert.equal(counts.succeeded + counts.canceled, 200);
  const results = await resultsOf(id);
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    requests.map(({ custom_id }) => custom_id),
  );
  assert.equal(results.filter(({ result }) => result.type === 'canceled').length, counts.canceled);
});

test('batches of messages of one key do not exist for another, nor as batches of the other format', async () => {
  const { id } = await client.messages.batches.create({ requests: [request('mine')] });
  await batchWhen(id, hasEnded);
  await assert.rejects(stranger.messages.batches.retrieve(id), { status: 404 });
  await assert.rejects(stranger.messages.batches.cancel(id), { status: 404 });
  await assert.rejects(stranger.messages.batches.delete(id), { status: 404 });
  assert.equal((await gateway.fetch(`/v1/batches/${id}`)).status, 404);
  assert.deepEqual((await stranger.messages.batches.list()).data, []);
  const files = (await (await gateway.fetch('/v1/files')).json()) as { data: unknown[] };
  assert.deepEqual(files.data, [], 'what it is kept in is no file of the caller');
});

test('a wrong batch of messages is refused whole, and names the request', async () => {
  const nested = '['.repeat(100_000) + ']'.repeat(100_000);
  for (const [body, message] of [
    ['{}', /'requests' must be an array/],
    ['{"requests": []}', /'requests' must be an array/],
    ['{"requests": [5]}', /'requests.0' must be an object/],
    ['{"requests": [{"custom_id": "a", "params": {}}, {"custom_id": "b c", "params": {}}]}', /'requests.1.custom_id'/],
    [
      `{"requests": [${[1, 2].map(() => '{"custom_id": "a", "params": {}}').join()}]}`,
      /'requests.1.custom_id' repeats/,
    ],
    ['{"requests": [{"custom_id": "a"}]}', /'requests.0.params' must be an object/],
    ['{"requests": [{"custom_id": "a", "params": {}]}', /'requests.0' is not valid JSON|not valid JSON/],
    ['{"requests": [{"custom_id": "a", "params": {}}', /not valid JSON/],
    [`{"requests": [{"custom_id": "a", "params": {"x": ${nested}}}]}`, /'requests.0' nests deeper than 64 levels/],
    [
      `{"requests": [{"custom_id": "a", "params": {"x": "${'x'.repeat(8 * 1024 * 1024)}"}}]}`,
      /'requests.0' is longer than 8388608 bytes/,
    ],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.fetch('/v1/messages/batches', { method: 'POST', body, headers });
    const answer = (await response.json()) as { type: string; error: { message: string } };
    assert.equal(response.status, 400, body.slice(0, 200));
    assert.equal(answer.type, 'error');
    assert.match(answer.error.message, message, body.slice(0, 200));
  }
});

test('a connection goes on after a batch that is refused before it was read', async () => {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  for (const depth of [60_000, 60_000, 100, 100]) {
    const body = '{"a":'.repeat(depth);
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(`${gateway.url}/v1/messages/batches`, { method: 'POST', headers, body, signal });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /nests deeper than 64 levels/);
  }
});

const storedBytes = async (key = testKey) => {
  const headers = { authorization: `Bearer ${key}` };
  const usage = (await (await gateway.fetch('/v1/usage', { headers })).json()) as { storage: { files: number } };
  return usage.storage.files;
};

test('a batch of messages that is begun again with the same Idempotency-Key is the first one, and keeps no second file', async () => {
  const begin = async (key: string, requests: readonly object[]) => {
    const json = { requests };
    const headers = { 'idempotency-key': key, authorization: `Bearer ${otherKey}` };
    const answer = await gateway.fetch('/v1/messages/batches', { json, headers });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as { id: string } };
  };
  const requests = [request('once', 'late')];
  const first = await begin('batch-1', requests);
  await workersKnow();
  const before = await storedBytes(otherKey);
  const again = await begin('batch-1', requests);
  assert.deepEqual([first.status, again.status], [200, 200]);
  assert.equal(again.body.id, first.body.id);
  assert.equal(again.headers.get('x-culvert-idempotent-replay'), first.headers.get('x-culvert-request-id'));
  assert.equal((await begin('batch-1', [request('other')])).status, 409);
  assert.equal((await begin('x'.repeat(256), requests)).status, 400);
  await until('the files of repeats are gone', async () => (await storedBytes(otherKey)) === before);
  const other = await begin('batch-2', requests);
  assert.notEqual(other.body.id, first.body.id);
  for (const { id } of [first.body, other.body]) await stranger.messages.batches.cancel(id);
});

test('a deleted batch of messages leaves no bytes, neither its requests nor its results', async () => {
  // Files of other tests that go meanwhile are not of this account.
  const alone = anthropic(gateway.url, aloneKey);
  const { id } = await alone.messages.batches.create({ requests: [request('a')] });
  await batchWhen(id, hasEnded, alone);
  const headers = { authorization: `Bearer ${aloneKey}` };
  const results = await (await gateway.fetch(`/v1/messages/batches/${id}/results`, { headers })).text();
  // Another worker knows of it a little later.
  await until('both files count', async () => (await storedBytes(aloneKey)) >= 2 * results.length);
  await alone.messages.batches.delete(id);
  // The answers of its lines are gone with its end, which is seen at the next measuring.
  await until('they are gone', async () => (await storedBytes(aloneKey)) < 2 * results.length);
});

test('a batch of messages that is one too many leaves no bytes', async () => {
  const open: string[] = [];
  const create = () => client.messages.batches.create({ requests: [request('a', 'late')] }, { maxRetries: 0 });
  for (let at = 0; at < 100; at += 1) open.push((await create()).id);
  await workersKnow();
  const before = await storedBytes();
  await assert.rejects(create(), { status: 429 });
  // What tests before it deleted may go in the meantime.
  await until('nothing of it is left', async () => (await storedBytes()) <= before);
  for (const id of open) await client.messages.batches.cancel(id);
});
