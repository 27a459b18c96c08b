import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { ask } from './books-balance.ts';
import { startReplicas } from './replicas.ts';

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;

const callers = 600;
const allowed = 100;
const plans = {
  'calls a minute': { windows: 'off', rpm: allowed, concurrency: 'off' },
  'units of a window': { windows: { '5h': allowed, week: 10_000, month: 20_000 }, rpm: 'off', concurrency: 'off' },
};

/** Limits are judged here: on a machine that is busy with other things, the loop would refuse some for its own sake. */
const begunAll = { server: { overload: 'off' } };

for (const [what, plan] of Object.entries(plans)) {
  test(`600 callers at once over three replicas that have only just started: 100 ${what} pass, 500 are 429`, {
    skip,
  }, async (t) => {
    const redis = await startRedis(t);
    const { urls } = await startReplicas(t, 3, { postgres: postgres!, redis, plans: { default: plan }, ...begunAll });
    const seen = await Promise.all(Array.from({ length: callers }, (_, i) => ask(urls[i % 3]!)));
    const by = Object.groupBy(seen, ({ status }) => status);
    const counts = Object.fromEntries(Object.entries(by).map(([status, some]) => [status, some!.length]));
    assert.deepEqual(counts, { 200: allowed, 429: callers - allowed }, by[503]?.[0]?.text);
  });
}
