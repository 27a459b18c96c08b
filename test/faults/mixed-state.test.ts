import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { overUpstreams } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

test('a replica that counts in Redis does not start beside a server that counts in its own memory', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const database = postgres.newDatabase();
  const log = join(temporaryFolder(t), 'log');
  const storage = (state: string, dataDir: string) => ({
    storage: { database, state, secret: 's'.repeat(32), data_dir: dataDir },
  });
  const folder = temporaryFolder(t);
  const alone = await startGatewayProcess(t, storage('memory', folder));
  await assert.rejects(
    startGatewayProcess(t, storage(redis.url, temporaryFolder(t)), { log }),
    /the gateway ended with 1/,
  );
  assert.match(readFileSync(log, 'utf8'), /Another Culvert counts quota in its own memory over 127\.0\.0\.1/);
  assert.ok(alone.lives());

  // Changed over to Redis, even after a crash: its folder proves that the one before is dead.
  const ended = new Promise((resolve) => alone.process.once('exit', resolve));
  alone.process.kill('SIGKILL');
  await ended;
  const changed = await startGatewayProcess(t, storage(redis.url, folder));
  assert.ok(changed.lives());
});

test('a start over an empty Redis serves its first request, and one over none goes on without it', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
  t.after(() => upstream.close());
  const plans = { default: { windows: { '5h': 1_000 }, rpm: 1_000 } };
  const started = () =>
    startGatewayProcess(t, {
      ...overUpstreams(upstream.url),
      plans,
      storage: {
        database: postgres.newDatabase(),
        state: redis.url,
        secret: 's'.repeat(32),
        data_dir: temporaryFolder(t),
      },
    });
  const first = await chatOnce((await started()).url);
  assert.equal(first.status, 200, first.text);
  await redis.kill();
  const without = await chatOnce((await started()).url);
  assert.equal(without.status, 503, without.text);
});
