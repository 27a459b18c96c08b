import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { startReplicas } from '../faults/replicas.ts';
import { adminKey, noLimits, otherKey, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

const skip = postgresMissing || redisMissing;
const lines = 300;

test('replicas share batches: one works at each, and another goes on when it dies', { skip }, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const { all, urls, upstream } = await startReplicas(t, 2, { postgres, redis, plans: noLimits });
  // It answers late, so that the first replica dies over some lines.
  upstream.script('/v1/chat/completions', ['always delay=200ms']);
  const [first, second] = urls.map((url) => openAi(url, testKey));
  const asked = Array.from({ length: lines }, (_, index) => chatLine(`line-${index}`));

  const cancelled = await beginBatch(first!, asked);
  await batchWhen(second!, cancelled.id, ({ request_counts: counts }) => counts!.completed > 0);
  await second!.batches.cancel(cancelled.id);
  assert.equal((await batchWhen(first!, cancelled.id, hasEnded)).status, 'cancelled');

  const { id } = await beginBatch(first!, asked);
  await batchWhen(second!, id, ({ request_counts: counts }) => counts!.completed > 50);
  all[0]!.process.kill('SIGKILL');
  await once(all[0]!.process, 'exit');
  const batch = await batchWhen(second!, id, hasEnded);
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
  const results = await resultsIn(second!, batch.output_file_id);
  assert.deepEqual(
    results.map(({ custom_id }) => custom_id),
    asked.map((_, index) => `line-${index}`),
  );
  // Lines that the dead replica had under way are charged once the other one sees that it is gone.
  const uncharged = async () => {
    const charged = await chargedIn(urls[1]!);
    return results.filter(({ response }) => charged.get(response!.request_id) !== 1);
  };
  while ((await uncharged()).length > 0) await after(200);
  await assert.rejects(openAi(urls[1]!, otherKey).batches.retrieve(id), { status: 401 });
});

/** Units of every charged request. */
async function chargedIn(url: string): Promise<ReadonlyMap<string, number>> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const text = await (await fetch(`${url}/admin/v1/requests.jsonl`, { headers })).text();
  const events = text.trim().split('\n');
  return new Map(
    events.map((line) => JSON.parse(line) as { id: string; units: number }).map(({ id, units }) => [id, units]),
  );
}
