import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partOf } from '../../src/stores/redis/servers.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing } from '../start-redis.ts';
import { startRedisCluster } from '../start-redis-cluster.ts';
import { until } from '../until.ts';
import { balanced } from './books-balance.ts';
import { newSeen, startReplicas, useUp } from './replicas.ts';

const units = 120;
const plans = {
  default: { windows: { '5h': units, week: 10_000, month: 20_000 }, rpm: 1_000_000, concurrency: 1_000 },
};

test('kill -9 of a server of Redis Cluster under load of two replicas: each account gets its limit, and nothing more', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedisCluster(t, { replicas: 1 })]);
  // An account on each of the three servers.
  const keys = [accountIn(0, 4), accountIn(6, 9), accountIn(11, 15)].map((account) => ({
    key: `sk-cv-${account}-0123456789`,
    account,
    name: 'all',
    plan: 'default',
  }));
  const accounts = Object.fromEntries(keys.map(({ account }) => [account, { plan: 'default' }]));
  const replicas = await startReplicas(t, 2, { postgres, redis, plans, accounts, keys });
  const seen = keys.map(() => newSeen());
  const load = keys.map(({ key }, at) => useUp(replicas.urls, 4, { key, seen: seen[at]! }));
  await until('load', () => seen.every(({ answered }) => answered.length > 20));
  await redis.nodes[0]!.kill();
  await Promise.all(load);
  assert.ok(seen[0]!.unavailable.length > 0, 'the account on it waits for its replica');
  for (const [at, { key }] of keys.entries()) {
    await until(`account ${at} has used everything`, async () => {
      await useUp(replicas.urls, 2, { key, seen: seen[at]! });
      return seen[at]!.answered.length >= units;
    });
    assert.equal(seen[at]!.answered.length, units);
    const { events } = await balanced(replicas.urls[0]!, 60_000, 0, keys[at]);
    const charged = new Set(events.filter((event) => event.units === 1).map(({ id }) => id));
    assert.equal(charged.size, units);
    for (const id of seen[at]!.answered) assert.ok(charged.has(id), `${id} was answered`);
  }
});

function accountIn(first: number, last: number): string {
  for (let at = 0; ; at++) {
    const part = partOf(`account-${at}`);
    if (first <= part && part <= last) return `account-${at}`;
  }
}
