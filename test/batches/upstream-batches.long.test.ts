import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { systemClock } from '../../src/kernel/clock.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { otherKey, startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { until as untilWithin } from '../until.ts';
import { type BatchUpstream, startBatches, until } from '../upstream-formats/start-batches.ts';
import { anthropic, batchWhen, beginBatch, chatLine, hasEnded, openAi, type ResultLine, resultsIn } from './world.ts';

const there = { after: after as never };
const openai = await startBatches(there);
const claude = await startBatches(there);
const google = await startBatches(there);
const shortKey = 'sk-cv-test-key-short';
const lightKey = 'sk-cv-test-key-light';
const budgetKey = 'sk-cv-test-key-budget';
const manyKey = 'sk-cv-test-key-many';
const togetherKey = 'sk-cv-test-key-together';
const usersKey = 'sk-cv-test-key-users';
const eachKey = 'sk-cv-test-key-each';
const waitsKey = 'sk-cv-test-key-waits';
const price = { input: 10, output: 20 };
const using = (url: string) => ({ base_url: `${url}/v1`, api_key: 'k', batches: { upstream: 'always' } });
const config = {
  providers: {
    openai: { type: 'openai', ...using(openai.url) },
    mistral: { type: 'mistral', ...using(openai.url), batches: { upstream: 'always', price: '25%' } },
    claude: { type: 'anthropic', ...using(claude.url) },
    gemini: { type: 'gemini', ...using(google.url), base_url: `${google.url}/v1beta` },
    azure: { type: 'azure-openai', ...using(openai.url), base_url: openai.url },
    dated: { type: 'azure-openai', ...using(openai.url), base_url: openai.url, api_version: '2024-10-21' },
    own: { type: 'openai', base_url: `${openai.url}/v1`, api_key: 'k' },
  },
  models: {
    chat: { targets: [{ provider: 'openai', model: 'mock/ok', price }] },
    mistral: { targets: [{ provider: 'mistral', model: 'mock/ok', price }] },
    azure: { targets: [{ provider: 'azure', model: 'mock/ok', price }] },
    dated: { targets: [{ provider: 'dated', model: 'mock/ok', price }] },
    claude: { targets: [{ provider: 'claude', model: 'mock/ok', price }] },
    'claude-us': {
      targets: [{ provider: 'claude', model: 'mock/tier=us', price: { ...price, served_as: { us: 1.1 } } }],
    },
    tiered: {
      targets: [{ provider: 'openai', model: 'mock/ok', price: { ...price, served_as: { priority: 2, flex: 0.1 } } }],
    },
    gemini: { targets: [{ provider: 'gemini', model: 'mock/ok', price }] },
    'gemini-refusing': { targets: [{ provider: 'gemini', model: 'mock/status=400', price }] },
    refusing: { targets: [{ provider: 'openai', model: 'mock/status=400', price }] },
    either: { targets: ['openai/mock/ok', 'own/mock/ok'] },
    fallback: { targets: ['openai/mock/ok'], fallbacks: ['own'] },
    own: { targets: ['own/mock/ok'] },
  },
  plans: {
    default: { windows: 'off', rpm: 'off' },
    short: { windows: { '5h': 5 }, rpm: 5 },
    // By their estimate, two lines of 1,000 tokens at half of 20 USD a million.
    budget: { windows: 'off', rpm: 'off', budget: { month: 0.02 } },
  },
  accounts: {
    short: { plan: 'short' },
    light: { plan: 'short' },
    budget: { plan: 'budget' },
    many: { plan: 'budget' },
    together: { plan: 'budget' },
    users: { budgets: [{ user: 'spent', usd: 0.0001, window: 'month' }] },
    waits: { budgets: [{ user: 'spent', usd: 0.0001, window: 'month' }] },
    each: { budgets: [{ by: 'user', usd: 0.02, window: 'month' }] },
  },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
    { key: shortKey, account: 'short', name: 'test' },
    { key: lightKey, account: 'light', name: 'test' },
    { key: budgetKey, account: 'budget', name: 'test' },
    { key: manyKey, account: 'many', name: 'test' },
    { key: togetherKey, account: 'together', name: 'test' },
    { key: usersKey, account: 'users', name: 'test' },
    { key: eachKey, account: 'each', name: 'test' },
    { key: waitsKey, account: 'waits', name: 'test' },
  ],
};
const { openai: _, ...others } = config.providers;
const movesClock = testProcesses > 1 && 'the clock of another process does not move';
const gateway = await startGateway(there, config);
const client = openAi(gateway.url, testKey);
const claudeClient = anthropic(gateway.url, testKey);

afterEach(async () => {
  for (const vendor of [openai, claude, google]) {
    await vendor.finish();
    vendor.direct.clear();
    vendor.forget();
  }
});

const named = (count: number, body: JsonObject = {}) =>
  Array.from({ length: count }, (_, index) => chatLine(`${index}`, body));

async function ended(id: string, of = client) {
  const batch = await batchWhen(of, id, hasEnded);
  return {
    batch,
    results: await resultsIn(of, batch.output_file_id),
    errors: await resultsIn(of, batch.error_file_id),
  };
}

/** The request of a line, as its owner sees it explained. */
async function explained({ response }: ResultLine, key = testKey): Promise<JsonObject> {
  const headers = { authorization: `Bearer ${key}` };
  return (await gateway.fetch(`/v1/requests/${response!.request_id}`, { headers })).json() as Promise<JsonObject>;
}

/** What the lines cost, at this part of the usual price. */
async function assertCost(lines: readonly ResultLine[], share: number): Promise<void> {
  for (const line of lines) {
    const { prompt_tokens: input, completion_tokens: output } = line.response!.body.usage as Record<string, number>;
    const { units, cost_usd: costUsd } = await explained(line);
    assert.equal(units, 1);
    assert.equal(costUsd, Math.round((input! * 10 + output! * 20) * share * 1e3) / 1e9);
  }
}

/** How often a model answered there, in a batch or beside it. */
const askedOf = ({ direct }: BatchUpstream) => direct.requests().filter(({ method }) => method === 'POST').length;

const names = (lines: readonly ResultLine[]) => lines.map(({ custom_id }) => custom_id);

test('lines go to the batch API of their provider, for half the price', async () => {
  const { id } = await beginBatch(client, named(3));
  const { batch, results } = await ended(id);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 3, completed: 3, failed: 0 });
  assert.deepEqual(names(results), ['0', '1', '2']);
  const [there] = openai.batches;
  assert.equal(openai.batches.length, 1);
  assert.equal(askedOf(openai), 3, 'nothing was asked beside the batch');
  await assertCost(results, 0.5);
  assert.equal(((await explained(results[0]!)).route as JsonObject).batch, `openai ${there!.id}`);
  await until(() => openai.files.size === 0);
});

test('lines of every format go to a provider of another one, and come back in their own', async () => {
  const message = { custom_id: 'one', params: { model: 'chat', max_tokens: 50, messages: [] as never[] } };
  message.params.messages = [{ role: 'user', content: 'Hello' }] as never[];
  const begun = await claudeClient.messages.batches.create({ requests: [message] });
  await until(() => openai.batches.length === 1);
  let told = begun;
  while (told.processing_status !== 'ended') told = await claudeClient.messages.batches.retrieve(begun.id);
  for await (const { custom_id, result } of await claudeClient.messages.batches.results(begun.id)) {
    assert.equal(custom_id, 'one');
    assert.equal(result.type === 'succeeded' && result.message.type, 'message');
  }
  for (const [vendor, model] of [
    [claude, 'claude'],
    [google, 'gemini'],
  ] as const) {
    const { id } = await beginBatch(client, named(2, { model }));
    const { results } = await ended(id);
    assert.deepEqual(
      results.map(({ response }) => response!.body.object),
      ['chat.completion', 'chat.completion'],
    );
    assert.equal(vendor.batches.length, 0, 'what was taken is deleted there');
    assert.equal(askedOf(vendor), 2);
    await assertCost(results, 0.5);
  }
});

test('lines of Responses and of embeddings go there too', async () => {
  const line = (url: string, body: JsonObject) => JSON.stringify({ custom_id: url, method: 'POST', url, body });
  const response = await beginBatch(client, [line('/v1/responses', { model: 'chat', input: 'Hello' })], {
    endpoint: '/v1/responses',
  });
  const { results } = await ended(response.id);
  assert.equal(results[0]!.response!.body.object, 'response');
  assert.equal(openai.batches.length, 1);
});

test('a batch job of Mistral, at a price that the operator knows', async () => {
  const { id } = await beginBatch(client, named(2, { model: 'mistral' }));
  const { results } = await ended(id);
  assert.deepEqual(names(results), ['0', '1']);
  assert.equal(openai.batches[0]!.api, 'mistral');
  await assertCost(results, 0.25);
});

test('a batch of Gemini is a file of lines for one model, and leaves nothing there', async () => {
  const lines = [...named(2, { model: 'gemini', max_tokens: 50 }), chatLine('wrong', { model: 'gemini-refusing' })];
  google.hold();
  const { id } = await beginBatch(client, lines);
  await until(() => google.batches.length === 2);
  const [, first] = google.batches;
  const [{ key, request }] = first!.lines as unknown as [{ key: string; request: JsonObject }];
  assert.match(key, /^req_[0-9a-f-]{36}-1$/);
  assert.deepEqual(Object.keys(request).toSorted(), ['contents', 'generationConfig']);
  assert.deepEqual([first!.order.model, first!.lines.length], ['/models/mock%2Fok', 2]);
  await google.finish();
  const { results, errors } = await ended(id);
  assert.deepEqual(names(results), ['0', '1']);
  assert.deepEqual([errors[0]!.custom_id, errors[0]!.response!.status_code], ['wrong', 400]);
  await assertCost(results, 0.5);
  await until(() => google.files.size === 0 && google.batches.length === 0);
});

test('a batch of Gemini that is cut gives no answers: they are asked one by one, unless it was cancelled', async () => {
  google.hold();
  const expiring = await beginBatch(client, named(2, { model: 'gemini' }));
  await until(() => google.batches.length === 1);
  await google.finish(1);
  const { results } = await ended(expiring.id);
  assert.deepEqual(names(results), ['0', '1']);
  await assertCost(results, 1);

  google.hold();
  const cancelled = await beginBatch(client, named(2, { model: 'gemini' }));
  await until(() => google.batches.length === 1);
  await client.batches.cancel(cancelled.id);
  const { batch, errors } = await ended(cancelled.id);
  assert.equal(batch.status, 'cancelled');
  assert.deepEqual(
    errors.map(({ error }) => error?.code),
    ['batch_cancelled', 'batch_cancelled'],
  );
  assert.ok(google.calls.some((call) => call.endsWith(':cancel')));
});

test('a batch of Azure names its deployment in the body, whatever the version of the API', async () => {
  for (const model of ['azure', 'dated']) {
    const { id } = await beginBatch(client, named(2, { model }));
    const { results } = await ended(id);
    assert.deepEqual(names(results), ['0', '1']);
    await assertCost(results, 0.5);
    const [{ body, url }] = openai.batches[0]!.lines as unknown as [{ body: JsonObject; url: string }];
    assert.deepEqual([url, body.model], ['/v1/chat/completions', 'mock/ok']);
    openai.forget();
  }
});

test('lines whose models run elsewhere are asked beside those that go to a batch', async () => {
  openai.hold();
  const lines = [chatLine('a'), chatLine('own', { model: 'own' }), chatLine('several', { n: 2, model: 'claude' })];
  const { id } = await beginBatch(client, [...lines, chatLine('either', { model: 'either' }), '{"custom_id": "torn']);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed === 3 && counts!.failed === 1);
  assert.equal(openai.batches[0]!.lines.length, 1);
  assert.equal(claude.calls.length, 0);
  await openai.finish();
  const { results } = await ended(id);
  assert.deepEqual(names(results), ['a', 'own', 'several', 'either']);
});

test('lines that need what is kept here are asked at once: it may be gone when a batch is answered', async () => {
  const notes = await client.files.create({
    file: await toFile(Buffer.from('Notes.'), 'notes.txt'),
    purpose: 'user_data',
  });
  const content = [{ type: 'file', file: { file_id: notes.id } }];
  openai.hold();
  const { id } = await beginBatch(client, [chatLine('a'), chatLine('kept', { messages: [{ role: 'user', content }] })]);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed === 1);
  assert.equal(openai.batches[0]!.lines.length, 1);
  await client.files.delete(notes.id);
  await openai.finish();
  assert.deepEqual(names((await ended(id)).results), ['a', 'kept']);
});

test('who wants answers within less than a day has them at once', async () => {
  const { id } = await beginBatch(client, named(2), { window: '23h' });
  await ended(id);
  assert.equal(openai.batches.length, 0);
});

test('progress is that of the provider', async () => {
  openai.hold();
  const { id } = await beginBatch(client, named(4));
  await until(() => openai.batches.length === 1);
  await openai.progress(3);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed === 3);
  await openai.finish();
  assert.deepEqual((await ended(id)).batch.request_counts, { total: 4, completed: 4, failed: 0 });
});

test('a cancelled batch is cancelled there, and keeps what was answered', async () => {
  for (const [vendor, model] of [
    [openai, 'chat'],
    [claude, 'claude'],
  ] as const) {
    vendor.hold();
    const { id } = await beginBatch(client, named(3, { model }));
    await until(() => vendor.batches.length === 1);
    await vendor.progress(1);
    await client.batches.cancel(id);
    const { batch, results, errors } = await ended(id);
    assert.equal(batch.status, 'cancelled');
    assert.deepEqual(names(results), ['0']);
    assert.deepEqual(
      errors.map(({ error }) => error?.code),
      ['batch_cancelled', 'batch_cancelled'],
    );
    assert.ok(vendor.calls.some((call) => call.endsWith('/cancel')));
    assert.equal(askedOf(vendor), 1);
    await assertCost(results, 0.5);
  }
});

test('a batch that ends before it can be cancelled there keeps all of its answers', async () => {
  openai.hold();
  openai.endBeforeCancel();
  const { id } = await beginBatch(client, named(3));
  await until(() => openai.batches.length === 1);
  await client.batches.cancel(id);
  const { batch, results } = await ended(id);
  assert.equal(batch.status, 'cancelled');
  assert.equal(results.length, 3);
});

test('lines of a provider that is configured no longer are asked elsewhere', async () => {
  openai.hold();
  const { id } = await beginBatch(client, named(2));
  await until(() => openai.batches.length === 1);
  await gateway.reload({ ...config, models: { chat: { targets: ['own/mock/ok'] } }, providers: others });
  const { results } = await ended(id);
  await gateway.reload(config);
  assert.deepEqual(names(results), ['0', '1']);
});

test('lines that a provider leaves or refuses are asked one by one, at the usual price', async () => {
  openai.hold();
  const expiring = await beginBatch(client, named(3));
  await until(() => openai.batches.length === 1);
  await openai.finish(1);
  const { results } = await ended(expiring.id);
  assert.deepEqual(names(results), ['0', '1', '2']);
  await assertCost(results.slice(0, 1), 0.5);
  await assertCost(results.slice(1), 1);

  const refused = await beginBatch(client, [chatLine('right'), chatLine('wrong', { model: 'refusing' })]);
  const { batch, errors } = await ended(refused.id);
  assert.deepEqual(batch.request_counts, { total: 2, completed: 1, failed: 1 });
  assert.equal(errors[0]!.response!.status_code, 400);
});

test('answers that are missing for a moment are awaited, and none of their lines is asked twice', async () => {
  openai.fail(/^GET .*\/content$/, 404, 2);
  const { id } = await beginBatch(client, named(2));
  const { results } = await ended(id);
  assert.equal(askedOf(openai), 2);
  await assertCost(results, 0.5);
});

test('a refused credential is waited for, and so is what is gone, but not for ever', {
  skip: movesClock,
}, async (t) => {
  let aheadMs = 0;
  t.mock.method(systemClock, 'monotonicMs', () => performance.now() + aheadMs);
  const looks = () => openai.calls.filter((call) => call.startsWith('GET /batches/')).length;
  for (const [status, patienceMs] of [
    [401, 3_600_000],
    [404, 300_000],
  ] as const) {
    openai.hold();
    const mended = await beginBatch(client, named(2));
    await until(() => openai.batches.length === 1);
    openai.fail(/^GET \/batches\//, status);
    for (const ms of [0, patienceMs - 60_000]) {
      aheadMs += ms;
      const before = looks();
      await until(() => looks() > before + 1);
    }
    openai.fail(/^GET \/batches\//, status, 0);
    await openai.finish();
    await assertCost((await ended(mended.id)).results, 0.5);
    openai.forget();

    openai.hold();
    const lost = await beginBatch(client, named(2));
    await until(() => openai.batches.length === 1);
    openai.fail(/^GET \/batches\//, status);
    const before = looks();
    await until(() => looks() > before + 1);
    aheadMs += patienceMs;
    await assertCost((await ended(lost.id)).results, 1);
    openai.forget();
    openai.direct.clear();
  }
});

for (const how of ['a cut connection', 502] as const) {
  test(`a batch that has begun there, but was answered by ${how}, is found and not begun again`, async () => {
    openai.hold();
    openai.swallow((response) => {
      if (how === 502) response.writeHead(how).end('{}');
      else response.destroy();
    });
    const { id } = await beginBatch(client, named(2));
    await until(() => openai.calls.some((call) => call.startsWith('GET /batches/')) || openai.batches.length > 1);
    await openai.finish();
    await assertCost((await ended(id)).results, 0.5);
    assert.equal(openai.batches.length, 1);
    assert.equal(askedOf(openai), 2);
  });
}

test('where the batch API takes nothing, lines are asked one by one', async () => {
  for (const [vendor, model] of [
    [openai, 'chat'],
    [google, 'gemini'],
  ] as const) {
    for (const how of [300, 403, 'invalid'] as const) {
      vendor.refuse(how);
      const { id } = await beginBatch(client, named(2, { model }));
      const { results } = await ended(id);
      assert.deepEqual(names(results), ['0', '1']);
      await assertCost(results, 1);
    }
  }
});

test('no more lines go there than the windows of the account allow, which are held meanwhile', async () => {
  const short = openAi(gateway.url, shortKey);
  openai.hold();
  const { id } = await beginBatch(short, named(8));
  await until(() => openai.batches.length === 1);
  assert.equal(openai.batches[0]!.lines.length, 5);
  await refusedFor(short, /5-hour window/);
  await openai.finish();
  await batchWhen(short, id, ({ request_counts: counts }) => counts!.completed === 5);
  await refusedFor(short, /5-hour window/);
  await short.batches.cancel(id);
  const { results, errors } = await ended(id, short);
  assert.deepEqual([results.length, errors.length], [5, 3]);
  assert.equal(openai.batches.length, 1);
});

test('what a batch has held is free again at its end', async () => {
  const light = openAi(gateway.url, lightKey);
  const { id } = await beginBatch(light, named(3));
  assert.equal((await ended(id, light)).results.length, 3);
  for (let left = 2; left > 0; left--) {
    await light.chat.completions.create({ model: 'own', messages: [{ role: 'user', content: 'Hi' }] });
  }
  await refusedFor(light, /5-hour window/);
});

test('no more lines go there than the budget has left for', async () => {
  const poor = openAi(gateway.url, budgetKey);
  openai.hold();
  google.hold();
  const long = await beginBatch(poor, named(2, { model: 'gemini', max_tokens: 10_000 }));
  await until(() => google.batches.length === 1);
  assert.equal(google.batches[0]!.lines.length, 1);
  await poor.batches.cancel(long.id);
  await ended(long.id, poor);
  const { id } = await beginBatch(poor, named(5));
  await until(() => openai.batches.length === 1);
  assert.equal(openai.batches[0]!.lines.length, 2);
  // What they really used leaves room for others.
  await openai.finish();
  const { results } = await ended(id, poor);
  assert.equal(results.length, 5);
  assert.ok(openai.batches.length > 1);
});

test('a line of an end user whose budget is used up does not go there', async () => {
  const users = openAi(gateway.url, usersKey);
  const messages = [{ role: 'user' as const, content: 'Hello '.repeat(100) }];
  await users.chat.completions.create({ model: 'chat', messages, user: 'spent' });
  openai.hold();
  const { id } = await beginBatch(users, [chatLine('spent', { user: 'spent' }), chatLine('other', { user: 'other' })]);
  await until(() => openai.batches.length === 1);
  const lines = JSON.stringify(openai.batches[0]!.lines);
  assert.deepEqual([lines.includes('Hello other'), lines.includes('Hello spent')], [true, false]);
  await users.batches.cancel(id);
  await ended(id, users);
});

test('no more lines of an end user go there than its budget has left for; those of others do', async () => {
  const each = openAi(gateway.url, eachKey);
  openai.hold();
  const users = ['alice', 'alice', 'bob', 'alice', 'bob', 'alice'];
  const lines = users.map((user, at) => chatLine(`${user}-${at}`, { user }));
  const { id } = await beginBatch(each, lines);
  await until(() => openai.batches.length === 1);
  const there = JSON.stringify(openai.batches[0]!.lines);
  const sent = users.map((user, at) => there.includes(`Hello ${user}-${at}`));
  assert.deepEqual(sent, [true, true, true, false, true, false]);
  // What they really used leaves room for the others.
  await openai.finish();
  const { results } = await ended(id, each);
  assert.equal(results.length, 6);
  assert.ok(openai.batches.length > 1);
});

test('what a provider answers is taken while a line here waits for a limit of its end user', async () => {
  const waits = openAi(gateway.url, waitsKey);
  const messages = [{ role: 'user' as const, content: 'Hello '.repeat(100) }];
  await waits.chat.completions.create({ model: 'chat', messages, user: 'spent' });
  openai.hold();
  claude.hold();
  const here = chatLine('here', { user: 'spent', model: 'own' });
  const { id } = await beginBatch(waits, [here, chatLine('given up'), chatLine('there', { model: 'claude' })]);
  await until(() => openai.batches.length + claude.batches.length === 2);
  const { own, claude: there } = config.models;
  const models = { chat: { targets: ['own/mock/ok'] }, own, claude: there };
  await gateway.reload({ ...config, models, providers: others });
  const isAt = (count: number) => async () => (await waits.batches.retrieve(id)).request_counts?.completed === count;
  await untilWithin('the line that was given up is asked here', isAt(1), 10_000);
  await claude.finish();
  await untilWithin('the other one is taken from its provider', isAt(2), 10_000);
  await gateway.reload(config);
  await waits.batches.cancel(id);
  await ended(id, waits);
});

for (const [what, body, lines] of [
  ['every choice', { n: 2 }, 1],
  ['a dearer service tier', { model: 'tiered', service_tier: 'priority' }, 1],
  ['no cheaper service tier', { model: 'tiered', service_tier: 'flex' }, 2],
] as const) {
  test(`${what} that a line asks for counts in the budget`, async () => {
    const many = openAi(gateway.url, manyKey);
    openai.hold();
    const { id } = await beginBatch(many, named(3, body));
    await until(() => openai.batches.length === 1);
    assert.equal(openai.batches[0]!.lines.length, lines);
    await many.batches.cancel(id);
    await ended(id, many);
  });
}

test('how a provider served a line of a batch is charged', async () => {
  const { id } = await beginBatch(client, named(2, { model: 'claude-us' }));
  await assertCost((await ended(id)).results, 0.55);
});

test('batches that begin together share what the budget has left', async () => {
  const together = openAi(gateway.url, togetherKey);
  openai.hold();
  // The last line is asked once the others have gone, or wait.
  const lines = [...named(2), chatLine('last', { model: 'own' })];
  const begun = await Promise.all(Array.from({ length: 6 }, () => beginBatch(together, lines)));
  for (const { id } of begun) await batchWhen(together, id, ({ request_counts: counts }) => counts!.completed > 0);
  await Promise.all(begun.map(({ id }) => together.batches.cancel(id)));
  for (const { id } of begun) await ended(id, together);
  assert.equal(openai.batches.flatMap((batch) => batch.lines).length, 2);
});

test('a line may allow more tokens than anybody can count', async () => {
  const { id } = await beginBatch(client, named(2, { max_tokens: 1e15 }));
  assert.equal((await ended(id)).results.length, 2);
});

test("a batch without a name at its provider is never taken for another one's", async () => {
  claude.hold();
  const first = await beginBatch(client, named(1, { model: 'claude' }));
  await until(() => claude.batches.length === 1);
  claude.refuse(503);
  const second = await beginBatch(client, named(1, { model: 'claude' }));
  await until(() => claude.batches.length === 2);
  await claude.finish();
  for (const { id } of [first, second]) await assertCost((await ended(id)).results, 0.5);
  assert.equal(askedOf(claude), 2);
});

test("a batch of somebody else's that might be one without a name is neither cancelled nor deleted", async () => {
  claude.hold();
  const params = { model: 'mock/ok', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };
  const others = await fetch(`${claude.url}/v1/messages/batches`, {
    method: 'POST',
    headers: { 'x-api-key': 'k' },
    body: JSON.stringify({ requests: [{ custom_id: 'theirs', params }] }),
  });
  const { id: theirs } = (await others.json()) as { id: string };
  claude.refuse(503);
  const { id } = await beginBatch(client, named(1, { model: 'claude' }));
  const looks = () => claude.calls.filter((call) => call === `GET /messages/batches/${theirs}`).length;
  await until(() => looks() > 0);
  await client.batches.cancel(id);
  const before = looks();
  await until(() => looks() > before + 1);
  await claude.finish();
  const { results, errors } = await ended(id);
  assert.deepEqual([results.length, errors[0]!.error!.code], [0, 'batch_cancelled']);
  assert.deepEqual(
    claude.batches.map((batch) => [batch.id, batch.state]),
    [[theirs, 'ended']],
  );
});

async function refusedFor(of: OpenAI, why: RegExp): Promise<void> {
  const asked = of.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] });
  await assert.rejects(asked, (error: { status: number; message: string }) => {
    assert.equal(error.status, 429);
    assert.match(error.message, why);
    return true;
  });
}
