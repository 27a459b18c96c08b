import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type GatewayProcess, startGatewayProcess } from '../faults/gateway-process.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { type BatchUpstream, startBatches, until } from '../upstream-formats/start-batches.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

const lines = 40;
const asked = Array.from({ length: lines }, (_, index) => chatLine(`${index}`));

interface World {
  vendor: BatchUpstream;
  url: string;
  /** Ends the server so, and starts it again at the same address. */
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

async function startWorld(
  t: TestContext,
  type: 'openai' | 'anthropic' | 'mistral' | 'gemini',
  more: Record<string, unknown> = {},
): Promise<World> {
  const vendor = await startBatches(t);
  const at = {
    base_url: `${vendor.url}/${type === 'gemini' ? 'v1beta' : 'v1'}`,
    api_key: 'k',
    batches: { upstream: 'always' },
  };
  const price = { input: 1_000, output: 1_000 };
  const config = {
    storage: { data_dir: temporaryFolder(t) },
    providers: { vendor: { type, ...at } },
    models: { chat: { targets: [{ provider: 'vendor', model: 'mock/ok', price }] } },
    ...more,
  };
  let gateway: GatewayProcess = await startGatewayProcess(t, config);
  const { url } = gateway;
  return {
    vendor,
    url,
    async restart(signal) {
      gateway.process.kill(signal);
      await once(gateway.process, 'exit');
      gateway = await startGatewayProcess(t, config, { at: url });
    },
  };
}

for (const type of ['openai', 'anthropic', 'mistral', 'gemini'] as const) {
  test(`${type}: a batch that the provider has begun is found again after a kill, and paid once`, async (t) => {
    const { vendor, url, restart } = await startWorld(t, type);
    vendor.hold();
    const begun = new Promise<void>((resolve) => vendor.swallow(() => resolve()));
    const { id } = await beginBatch(openAi(url, testKey), asked);
    await begun;
    await restart('SIGKILL');
    await until(() => vendor.calls.some((call) => /^GET \/.*_\d+$/.test(call)));
    await vendor.finish();
    await assertAnsweredOnce(url, id);
    assert.equal(
      vendor.batches.length,
      type === 'anthropic' || type === 'gemini' ? 0 : 1,
      'nothing was begun a second time',
    );
    assert.equal(vendor.direct.requests().filter(({ method }) => method === 'POST').length, lines);
  });
}

test('a batch outlives kills and restarts while the provider has it, and while its answers are taken', async (t) => {
  const { vendor, url, restart } = await startWorld(t, 'openai');
  vendor.hold();
  const { id } = await beginBatch(openAi(url, testKey), asked);
  await until(() => vendor.batches.length === 1);
  await restart('SIGKILL');
  await vendor.progress(10);
  await batchWhen(openAi(url, testKey), id, ({ request_counts: counts }) => counts!.completed === 10);
  await restart('SIGTERM');
  await vendor.finish();
  await until(() => vendor.calls.some((call) => call.endsWith('/content')));
  await restart('SIGKILL');
  await assertAnsweredOnce(url, id);
  assert.equal(vendor.batches.length, 1);
  assert.equal(vendor.direct.requests().filter(({ method }) => method === 'POST').length, lines);
});

test('after a kill, no more lines of an end user go there than its budget has left for', async (t) => {
  const accounts = { dev: { budgets: [{ by: 'user', usd: 1, window: 'month' }] } };
  const { vendor, url, restart } = await startWorld(t, 'openai', { accounts });
  vendor.hold();
  const users = ['alice', 'alice', 'bob', 'alice', 'bob', 'alice'];
  const { id } = await beginBatch(
    openAi(url, testKey),
    users.map((user, at) => chatLine(`${user}-${at}`, { user })),
  );
  await until(() => vendor.batches.length === 1);
  assert.equal(vendor.batches[0]!.lines.length, 4);
  await restart('SIGKILL');
  // It looks after a batch once it has sent what may go.
  const { length } = vendor.calls;
  await until(() => vendor.calls.slice(length).some((call) => call.startsWith('GET /batches/')));
  assert.equal(vendor.batches.length, 1);
  await vendor.finish();
  const { request_counts: counts } = await batchWhen(openAi(url, testKey), id, hasEnded);
  assert.deepEqual(counts, { total: 6, completed: 6, failed: 0 });
});

/** Every line has its answer and one charged row, at half of the price; what was held for them is charged nothing. */
async function assertAnsweredOnce(url: string, id: string): Promise<void> {
  const client = openAi(url, testKey);
  const batch = await batchWhen(client, id, hasEnded);
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
  const results = await resultsIn(client, batch.output_file_id);
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    asked.map((_, index) => `${index}`),
  );
  const headers = { authorization: `Bearer ${adminKey}` };
  const text = await (await fetch(`${url}/admin/v1/requests.jsonl`, { headers })).text();
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerEvent);
  const charged = events.filter(({ units }) => units > 0);
  assert.deepEqual(
    charged.map((event) => event.id).toSorted(),
    results.map(({ response }) => response!.request_id).toSorted(),
  );
  for (const event of charged) {
    if (event.class === 'crashed') continue;
    const { total_tokens: tokens } = results.find(({ response }) => response!.request_id === event.id)!.response!.body
      .usage as Record<string, number>;
    assert.equal(event.cost_usd, tokens! / 2 / 1_000);
  }
}

interface LedgerEvent {
  id: string;
  class: string;
  units: number;
  cost_usd: number;
}
