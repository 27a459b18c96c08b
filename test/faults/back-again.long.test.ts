import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { assertWithin } from '../machine-load.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { ask } from './books-balance.ts';
import { startReplicas } from './replicas.ts';

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
    for (const outageMs of outagesMs) {
      await (store === 'Redis' ? redis.kill() : postgres.stop('SIGKILL'));
      const untilMs = performance.now() + outageMs;
      // Callers come all the time, as they do.
      do {
        const { status, text } = await ask(url);
        assert.equal(status, 503, text);
        await pause(50);
      } while (performance.now() < untilMs);
      await (store === 'Redis' ? redis : postgres).restart();
      const backMs = performance.now();
      for (let asked = await ask(url); asked.status !== 200; asked = await ask(url)) {
        assert.equal(asked.status, 503, asked.text);
        assert.ok(performance.now() - backMs < 60_000, asked.text);
        await pause(20);
      }
      const tookMs = performance.now() - backMs;
      t.diagnostic(`after ${outageMs} ms: ${tookMs.toFixed(0)} ms`);
      assertWithin(tookMs, backWithinMs);
    }
  });
}
