import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing } from '../start-redis.ts';
import { burst, burstAtOnce, burstPlans } from './burst.ts';

const skip = postgresMissing || redisMissing;
const postgres = skip === false ? await startPostgres(null) : null;

for (const [what, plan] of Object.entries(burstPlans)) {
  test(`600 callers at once over three replicas that have only just started: 100 ${what} pass, 500 are 429`, {
    skip,
  }, async (t) => {
    const { counts, unavailable } = await burstAtOnce(t, postgres!, plan);
    assert.deepEqual(counts, { 200: burst.allowed, 429: burst.callers - burst.allowed }, unavailable);
  });
}
