import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { ask } from './books-balance.ts';
import { startReplicas } from './replicas.ts';
import { storeOutage } from './store-outage.ts';

/** Of one test: after the longer ones, waits between tries to connect have grown. */
const outagesMs = [300, 3_000, 12_000];
const backWithinMs = 2_000;

for (const store of ['PostgreSQL', 'Redis'] as const) {
  test(`${store} is gone for ${outagesMs.map((ms) => ms / 1_000).join(', ')} s: once it is back, the first request is answered within 2 s`, {
    skip: postgresMissing || redisMissing,
  }, async (t) => {
    const [postgres, redis] = [await startPostgres(t), await startRedis(t)];
    const { urls } = await startReplicas(t, 1, { postgres, redis });
    const [url] = urls as [string];
    assert.equal((await ask(url)).status, 200);
    const stop = () => (store === 'Redis' ? redis.kill() : postgres.stop('SIGKILL'));
    const { restart } = store === 'Redis' ? redis : postgres;
    for (const outageMs of outagesMs) {
      const { refused, late, backMs: tookMs } = await storeOutage(url, { stop, restart }, outageMs);
      for (const { status, text } of [...refused, ...late]) assert.equal(status, 503, text);
      t.diagnostic(`after ${outageMs} ms: ${tookMs.toFixed(0)} ms`);
      assertWithin(tookMs, backWithinMs);
    }
  });
}
