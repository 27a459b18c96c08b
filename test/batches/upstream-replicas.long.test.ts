import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startReplicas } from '../faults/replicas.ts';
import { testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startBatches, until } from '../upstream-formats/start-batches.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

const skip = postgresMissing || redisMissing;
const lines = 20;

test('another replica follows the batch at a provider, and holds what its lines cost', { skip }, async (t) => {
  const [postgres, redis, vendor] = await Promise.all([startPostgres(t), startRedis(t), startBatches(t)]);
  const at = { base_url: `${vendor.url}/v1`, api_key: 'k', batches: { upstream: 'always' } };
  const { all, urls } = await startReplicas(t, 2, {
    postgres,
    redis,
    plans: { default: { windows: { '5h': lines }, rpm: 'off' } },
    providers: { vendor: { type: 'openai', ...at } },
    models: { chat: { targets: ['vendor/mock/ok'] } },
  });
  const [first, second] = urls.map((url) => openAi(url, testKey));
  const isRefused = async () => {
    const asked = second!.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] });
    return asked.then(
      () => false,
      ({ status }: { status: number }) => status === 429,
    );
  };

  vendor.hold();
  const asked = Array.from({ length: lines }, (_, index) => chatLine(`${index}`));
  const { id } = await beginBatch(first!, asked);
  await until(() => vendor.batches.length === 1);
  assert.equal(await isRefused(), true);
  all[0]!.process.kill('SIGKILL');
  await once(all[0]!.process, 'exit');
  const looks = vendor.calls.length;
  await until(() => vendor.calls.length > looks);
  assert.equal(await isRefused(), true, 'the other one holds the same again');
  await vendor.finish();
  const batch = await batchWhen(second!, id, hasEnded);
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
  assert.equal((await resultsIn(second!, batch.output_file_id)).length, lines);
  assert.equal(vendor.batches.length, 1);
  assert.equal(await isRefused(), true, 'the lines themselves fill the window now');
});

test('an answer that came back waits while the counters are away, and is asked no second time', {
  skip,
}, async (t) => {
  const [postgres, redis, vendor] = await Promise.all([startPostgres(t), startRedis(t), startBatches(t)]);
  const at = { base_url: `${vendor.url}/v1`, api_key: 'k', batches: { upstream: 'always' } };
  const { urls } = await startReplicas(t, 1, {
    postgres,
    redis,
    plans: { default: { windows: { '5h': lines }, rpm: 'off' } },
    providers: { vendor: { type: 'openai', ...at } },
    models: { chat: { targets: ['vendor/mock/ok'] } },
  });
  const client = openAi(urls[0]!, testKey);
  vendor.hold();
  const asked = Array.from({ length: lines }, (_, index) => chatLine(`${index}`));
  const { id } = await beginBatch(client, asked);
  await until(() => vendor.batches.length === 1);
  await vendor.finish();
  const looks = vendor.calls.length;
  await until(() => vendor.calls.slice(looks).some((call) => call.endsWith('/content')));
  // Its file is read: what follows are the lines' own holds.
  redis.cli('CLIENT', 'PAUSE', '3000');
  const batch = await batchWhen(client, id, hasEnded);
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
  const chats = vendor.direct.requests().filter(({ method }) => method === 'POST');
  assert.equal(chats.length, lines, 'each line is asked once, by the batch at the provider');
});
