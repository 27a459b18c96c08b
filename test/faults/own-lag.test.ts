import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { type Asked, ask } from './books-balance.ts';
import { startReplicas } from './replicas.ts';

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;

const planOf = (rpm: number) => ({ default: { windows: { '5h': 10_000, week: 10_000, month: 20_000 }, rpm } });

test('a process that has no turn for 400 ms answers 200 and 429, not that the books are unavailable', {
  skip,
}, async (t) => {
  const redis = await startRedis(t);
  const { all, urls } = await startReplicas(t, 2, { postgres: postgres!, redis, plans: planOf(150) });
  for (const url of urls) await until(`${url} answers`, async () => (await ask(url)).status === 200);
  const seen: Asked[] = [];
  for (let round = 0; round < 6; round++) {
    const asked = Array.from({ length: 40 }, (_, i) => ask(urls[i % 2]!));
    await after(2 + 3 * round);
    for (const one of all) one.process.kill('SIGSTOP');
    await after(400);
    for (const one of all) one.process.kill('SIGCONT');
    seen.push(...(await Promise.all(asked)));
  }
  const statuses = Object.groupBy(seen, ({ status }) => status);
  assert.deepEqual(Object.keys(statuses), ['200', '429'], JSON.stringify(statuses[503]?.[0]));
  assert.equal(statuses[200]!.length, 148, 'exact, whatever the loop did');
  for (const refused of statuses[429]!) saysWhenToRetry(refused);
});

/** SDKs obey Retry-After and give up without one. `rpm` frees after a minute, a bucket of a second, and the rounding. */
function saysWhenToRetry({ retryAfterS, text }: Asked): void {
  const { error } = JSON.parse(text) as { error: { retry_after_ms: number } };
  assert.equal(retryAfterS, Math.ceil(error.retry_after_ms / 1_000), text);
  assert.ok(retryAfterS > 0 && retryAfterS <= 62, text);
}

test('who is over a limit is told so without Redis until the limit frees, and nobody else is', { skip }, async (t) => {
  const redis = await startRedis(t);
  const { urls } = await startReplicas(t, 1, { postgres: postgres!, redis, plans: planOf(3) });
  const [url] = urls as [string];
  for (let i = 0; i < 3; i++) assert.equal((await ask(url)).status, 200);
  const before = await ask(url);
  assert.equal(before.status, 429);
  await redis.kill();
  const without = await ask(url);
  assert.equal(without.status, 429, without.text);
  for (const refused of [before, without]) saysWhenToRetry(refused);
  assert.ok(without.retryAfterS! <= before.retryAfterS!, 'the same instant, which has come nearer');
  const { error } = JSON.parse(without.text) as { error: { limit: string } };
  assert.equal(error.limit, (JSON.parse(before.text) as { error: { limit: string } }).error.limit);
});
