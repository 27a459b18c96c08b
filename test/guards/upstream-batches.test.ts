import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { anthropic, batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from '../batches/world.ts';
import { adminKey, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { until } from '../until.ts';
import { startBatches } from '../upstream-formats/start-batches.ts';
import { startService } from './start-service.ts';

/* Lines that a provider's own batch API answers pass the guards before they leave, and with their answers when they come back. */

const there = { after: after as never };
const vendor = await startBatches(there);
const service = await startService(after);
const own = 'jo.doe@example.org';
const made = 'made.up@example.net';
const says = `mock/text=To-<EMAIL_1>-or:${made}`;
const using = (base_url: string) => ({ base_url, api_key: 'k', batches: { upstream: 'always' } });
const providers = {
  openai: { type: 'openai', ...using(`${vendor.url}/v1`) },
  mistral: { type: 'mistral', ...using(`${vendor.url}/v1`) },
  claude: { type: 'anthropic', ...using(`${vendor.url}/v1`) },
  gemini: { type: 'gemini', ...using(`${vendor.url}/v1beta`) },
  elsewhere: { type: 'openai', base_url: `${vendor.url}/v1`, api_key: 'k' },
};
const vendors = ['openai', 'mistral', 'claude', 'gemini'] as const;
const mails = { check: 'personal-data', kinds: ['email'] };
const named = (name: string, more: object = {}) => ({
  targets: [{ provider: 'openai', model: says }],
  guards: [name],
  ...more,
});
const models = {
  ...Object.fromEntries(
    vendors.map((provider) => [`masks-${provider}`, { targets: [{ provider, model: says }], guards: ['masks'] }]),
  ),
  blocks: named('blocks'),
  answers: named('answers'),
  routes: named('routes'),
  local: { targets: [{ provider: 'elsewhere', model: 'mock/text=other' }] },
  asks: named('asks'),
  cached: {
    targets: [{ provider: 'openai', model: 'mock/ok', price: { input: 10, output: 20 } }],
    cache: { ttl: '1h' },
  },
  shadowed: {
    targets: [{ provider: 'openai', model: 'mock/ok' }],
    shadow: { share: '100%', targets: [{ provider: 'mistral', model: 'mock/text=shadow' }] },
  },
};
const gateway = await startGateway(there, {
  providers,
  guards: {
    masks: { ...mails, action: 'mask' },
    blocks: { ...mails, action: 'block', on: ['input'] },
    answers: { ...mails, action: 'block', on: ['output'] },
    routes: { ...mails, action: 'route', route_to: 'local', on: ['input'] },
    asks: {
      check: 'webhook',
      url: service.url,
      secret: 'a secret of the tests, 32 bytes long',
      action: 'block',
      on: ['input'],
      // The machine may be busy: an answer that comes late would be none.
      deadline: '60s',
    },
  },
  models,
});
const client = openAi(gateway.url, testKey);
const claude = anthropic(gateway.url, testKey);

afterEach(async () => {
  await vendor.finish();
  vendor.direct.clear();
  vendor.forget();
});

/** All that a provider was sent, in batches and beside them. */
function sent(): string {
  return JSON.stringify(vendor.direct.requests().filter(({ method }) => method === 'POST'));
}

/** Bodies that a model answered: of lines at the provider, and of others. */
function asked(): { there: number; here: number } {
  const all = vendor.direct.requests().filter(({ method }) => method === 'POST');
  const inBatches = all.filter(({ headers }) => headers['x-mock-batch'] !== undefined).length;
  return { there: inBatches, here: all.length - inBatches };
}

async function ended(lines: readonly string[], endpoint = '/v1/chat/completions') {
  const { id } = await beginBatch(client, lines, { endpoint });
  const batch = await batchWhen(client, id, hasEnded);
  const results = await resultsIn(client, batch.output_file_id);
  const errors = await resultsIn(client, batch.error_file_id);
  return { results: JSON.stringify(results), errors: JSON.stringify(errors), counts: batch.request_counts };
}

const content = `Write to ${own}`;
const line = (model: string, text = content) => chatLine('a', { model, messages: [{ role: 'user', content: text }] });

for (const provider of vendors) {
  const model = `masks-${provider}`;
  test(`${provider}: lines of each format leave masked, and their answers are given back`, async () => {
    const chat = await ended([line(model)]);
    const input = line(model).replace('/v1/chat/completions', '/v1/responses');
    const responses = await ended(
      [input.replace(/"messages":\[.*?\]/, `"input":${JSON.stringify(content)}`)],
      '/v1/responses',
    );
    for (const { results } of [chat, responses]) assert.match(results, /To-jo\.doe@example\.org-or:<EMAIL_2>/);
    const { id } = await claude.messages.batches.create({
      requests: [{ custom_id: 'a', params: { model, max_tokens: 50, messages: [{ role: 'user', content }] } }],
    });
    while ((await claude.messages.batches.retrieve(id)).processing_status !== 'ended');
    for await (const { result } of await claude.messages.batches.results(id)) {
      assert.match(JSON.stringify(result), /To-jo\.doe@example\.org-or:<EMAIL_2>/);
    }
    assert.deepEqual(asked(), { there: 3, here: 0 });
    assert.ok(!sent().includes(own), sent());
    assert.match(sent(), /Write to <EMAIL_1>/);
  });
}

test('a line that a guard blocks goes nowhere, and others of its batch go', async () => {
  const { results, errors, counts } = await ended([
    line('blocks'),
    line('blocks', 'Write to nobody').replace('"a"', '"b"'),
  ]);
  assert.deepEqual(counts, { total: 2, completed: 1, failed: 1 });
  assert.match(errors, /guard_blocked/);
  assert.match(results, /"custom_id":"b"/);
  assert.deepEqual(asked(), { there: 1, here: 0 });
  assert.ok(!sent().includes(own) && !errors.includes(own));
});

test('an answer that a guard blocks comes back as an error, and nothing of it is kept', async () => {
  const { results, errors } = await ended([line('answers', 'Write to nobody')]);
  assert.equal(results, '[]');
  assert.match(errors, /guard_blocked/);
  assert.ok(!errors.includes(made), errors);
  assert.deepEqual(asked(), { there: 1, here: 0 });
});

test('a line that a guard routes is asked of the other model alone', async () => {
  const { results } = await ended([line('routes')]);
  assert.match(results, /other/);
  assert.deepEqual(asked(), { there: 0, here: 1 });
});

test('a line waits for a service that looks at it, before it leaves', async () => {
  service.play = async ({ body }) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { verdict: body.includes(own) ? 'block' : 'pass' };
  };
  const { errors, counts } = await ended([line('asks'), line('asks', 'Write to nobody').replace('"a"', '"b"')]);
  assert.deepEqual(counts, { total: 2, completed: 1, failed: 1 }, errors);
  assert.match(errors, /guard_blocked/);
  assert.equal(asked().there, 1);
  assert.ok(!sent().includes(own), sent());
});

async function explained(id: unknown) {
  const headers = { authorization: `Bearer ${testKey}` };
  return (await (await gateway.fetch(`/v1/requests/${id}`, { headers })).json()) as Record<string, unknown>;
}

test('a line finds a kept answer and fills the cache, and its own answer is charged in any case', async () => {
  const text = 'What is kept?';
  vendor.hold();
  const { id } = await beginBatch(client, [line('cached', text)]);
  while (vendor.batches.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  // An equal request beside it waits for nobody, and is kept.
  const json = { model: 'cached', messages: [{ role: 'user', content: text }] };
  const beside = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(beside.headers.get('x-culvert-cache'), 'miss');
  await beside.text();
  await vendor.finish();
  const batch = await batchWhen(client, id, hasEnded);
  const [first] = await resultsIn(client, batch.output_file_id);
  const record = await explained(first?.response?.request_id);
  assert.ok(Number(record.cost_usd) > 0, JSON.stringify(record));
  assert.deepEqual(asked(), { there: 1, here: 1 });
  const { results } = await ended([line('cached', text)]);
  assert.match(results, /"custom_id":"a"/);
  assert.deepEqual(asked(), { there: 1, here: 1 });
  // What only a batch has asked is kept, too.
  await ended([line('cached', 'Another one')]);
  await workersKnow();
  const again = { model: 'cached', messages: [{ role: 'user', content: 'Another one' }] };
  const hit = await gateway.fetch('/v1/chat/completions', { json: again });
  assert.match(hit.headers.get('x-culvert-cache') ?? '', /^hit; age=\d+$/);
});

test('a line at a provider has no shadow', async () => {
  // As many as may run together, so that those that hang leave no place.
  await ended(Array.from({ length: 16 }, (_, at) => line('shadowed', 'Hello').replace('"a"', `"${at}"`)));
  const shadows = async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const reply = await fetch(`${gateway.url}/admin/v1/requests?account=(shadow)`, { headers });
    return ((await reply.json()) as { data: { target: string; status: number }[] }).data;
  };
  // Another request has one, which is settled after those that a line might have had.
  const json = { model: 'shadowed', messages: [{ role: 'user', content: 'Hello' }] };
  await (await gateway.fetch('/v1/chat/completions', { json })).text();
  await until('a shadow is settled', async () => (await shadows()).length > 0);
  assert.deepEqual(
    (await shadows()).map(({ target, status }) => [target, status]),
    [['mistral/mock/text=shadow', 200]],
  );
  assert.deepEqual(asked(), { there: 16, here: 2 });
});
