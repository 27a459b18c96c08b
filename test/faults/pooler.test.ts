import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pgbouncerMissing, startPgbouncer } from '../start-pgbouncer.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { balanced } from './books-balance.ts';
import { startReplicas, useUp } from './replicas.ts';

test('two replicas over PgBouncer, which pools transactions: the limit is exact and the books balance', {
  skip: postgresMissing || redisMissing || pgbouncerMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const [{ port }, redis] = [await startPgbouncer(t, postgres.port), await startRedis(t)];
  const plans = {
    default: { windows: { '5h': 150, week: 10_000, month: 20_000 }, rpm: 1_000_000, concurrency: 1_000 },
  };
  const overPooler = {
    ...postgres,
    newDatabase() {
      const url = new URL(postgres.newDatabase());
      url.port = String(port);
      url.searchParams.set('pgbouncer', 'true');
      return url.href;
    },
  };
  const replicas = await startReplicas(t, 2, { postgres: overPooler, redis, plans });
  const { answered, unavailable } = await useUp(replicas.urls, 8);
  assert.deepEqual([answered.length, unavailable.length], [150, 0]);
  const { events } = await balanced(replicas.urls[0]!);
  const charged = new Set(events.filter(({ units }) => units === 1).map(({ id }) => id));
  assert.deepEqual([...charged].sort(), answered.sort());
});
