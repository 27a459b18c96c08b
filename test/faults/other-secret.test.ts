import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { storageOver } from './replicas.ts';

const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };

test('a replica that cannot open what others opened gets no traffic while they serve, and serves the rest alone', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
  t.after(() => upstream.close());
  const storage = storageOver(postgres.newDatabase(), redis);
  const start = (secret: string, earlier: readonly string[] = []) =>
    startGatewayProcess(t, {
      ...overUpstreams(upstream.url),
      storage: { ...storage, secret, earlier_secrets: earlier, data_dir: join(temporaryFolder(t), 'data') },
    });
  const ready = async ({ url }: { url: string }) => (await fetch(`${url}/readyz`)).status === 200;
  const right = await start(storage.secret);
  await until('the first one is ready', () => ready(right));
  const provider = { name: 'late', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'sk-upstream' };
  const made = await fetch(`${right.url}/admin/v1/providers`, {
    method: 'POST',
    headers: admin,
    body: JSON.stringify(provider),
  });
  assert.equal(made.status, 201, await made.text());

  const wrong = await start('w'.repeat(44));
  for (let looks = 0; looks < 8; looks += 1) {
    assert.equal(await ready(wrong), false);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const health = await fetch(`${wrong.url}/admin/v1/health`, { headers: admin });
  assert.match(await health.text(), /1 stored entry cannot be opened here: another storage\.secret sealed it/);
  const both = await start('w'.repeat(44), [storage.secret]);
  await until('one that has their secret as an earlier one is ready', () => ready(both));
  assert.equal(await ready(right), true);

  for (const one of [right, both]) one.process.kill('SIGTERM');
  await until('the last one serves what it can', () => ready(wrong));
});
