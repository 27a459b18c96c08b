import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatPath, hello } from '../contract/served.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { closedPort } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { lanesOf } from './many-streams.ts';
import { storageOver } from './replicas.ts';

test('a replica that learns that a provider is down tells the others, which do not try it first', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, up] = [await startPostgres(t), await startRedis(t), await startUpstream()];
  t.after(() => up.close());
  const down = `http://127.0.0.1:${await closedPort()}`;
  const config = { ...overUpstreams(down, up.url), storage: storageOver(postgres.newDatabase(), redis) };
  const one = await startGateway(t, config);
  let answer: Response;
  // The first cooldown lasts a second, which may be over before the other replica is asked; each next one lasts longer.
  for (let round = 1; ; round++) {
    const other = await startGateway(t, config);
    // A hint is lost where the other one does not listen yet: the next one comes when the provider was tried again.
    await until('the other replica knows', async () => {
      await (await one.fetch(chatPath, { json: hello })).text();
      return (await lanesOf(other.url)).some(({ state }) => state !== 'ready');
    });
    answer = await other.fetch(chatPath, { json: hello });
    if (answer.headers.get('x-culvert-attempts') === '1' || round === 4) break;
  }
  const { headers } = answer;
  assert.equal(answer.status, 200);
  assert.deepEqual([headers.get('x-culvert-provider'), headers.get('x-culvert-attempts')], ['up2', '1']);
});

test('a replica whose way to Redis forgot its connections hears of providers that are down again', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, up] = [await startPostgres(t), await startRedis(t), await startUpstream()];
  t.after(() => up.close());
  const proxy = await startCuttingProxy(t, Number(new URL(redis.url).port));
  const config = overUpstreams(`http://127.0.0.1:${await closedPort()}`, up.url);
  const database = postgres.newDatabase();
  const one = await startGateway(t, { ...config, storage: storageOver(database, redis) });
  const way = { url: `redis://127.0.0.1:${proxy.port}` };
  const other = await startGateway(t, { ...config, storage: storageOver(database, way) });
  const listening = () => redis.cli('pubsub', 'numsub', ...redis.cli('pubsub', 'channels').split('\n')).endsWith('2');
  await until('both listen', listening);
  proxy.forget();
  await until('the other replica knows', async () => {
    await (await one.fetch(chatPath, { json: hello })).text();
    return (await lanesOf(other.url)).some(({ state }) => state !== 'ready');
  });
});
