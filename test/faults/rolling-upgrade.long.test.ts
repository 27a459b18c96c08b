import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { overUpstreams } from '../start-gateway.ts';
import { nginxMissing, startNginx } from '../start-nginx.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { culvertBin, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, balanced } from './books-balance.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { historyMissing, releaseBefore } from './release-before.ts';
import { isReady, storageOver } from './replicas.ts';

/** Half of them stream. */
const callers = 40;
/** On a busy machine an answer may take seconds. */
const graceMs = 20_000;
/** Between two replacements, while both versions answer. */
const betweenMs = 2_000 * Number(process.env.CULVERT_RUNS ?? 1);

test('three replicas of the release before are replaced one by one behind nginx: no request is lost, the books balance', {
  skip: nginxMissing || postgresMissing || redisMissing || historyMissing,
}, async (t) => {
  const before = releaseBefore(t);
  const [postgres, redis, upstream] = [await startPostgres(t), await startRedis(t), await startUpstream()];
  t.after(() => upstream.close());
  const storage = storageOver(postgres.emptyDatabase(), redis);
  const start = async (bin: string, at: string | null = null) => {
    const dataDir = join(temporaryFolder(t), 'data');
    const config = { ...overUpstreams(upstream.url), storage: { ...storage, data_dir: dataDir } };
    const replica = await startGatewayProcess(t, config, { at, graceMs, bin });
    await until(`${replica.url} is ready`, () => isReady(replica.url));
    return replica;
  };
  const replicas: GatewayProcess[] = [];
  for (let i = 0; i < 3; i++) replicas.push(await start(before.bin));
  const nginx = await startNginx(
    t,
    'trial.conf',
    replicas.map(({ url }) => url),
  );

  const answered: string[] = [];
  const lost: string[] = [];
  let loading = true;
  const call = async (caller: number) => {
    const stream = caller % 2 === 0;
    while (loading) {
      const { status, id, text } = await ask(nginx.origin, { stream });
      const isWhole = status === 200 && (stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}'));
      if (isWhole) answered.push(id!);
      else lost.push(`${status} ${text.slice(-200)}`);
    }
  };
  const load = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  for (const [i, replica] of replicas.entries()) {
    await after(betweenMs);
    const ended = once(replica.process, 'exit');
    replica.process.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    replicas[i] = await start(culvertBin, replica.url);
  }
  await after(betweenMs);
  loading = false;
  await load;

  t.diagnostic(`from ${before.commit}: ${answered.length} answered, ${lost.length} lost`);
  assert.deepEqual(lost, [], readFileSync(nginx.log, 'utf8').slice(-2_000));
  const { events } = await balanced(replicas[0]!.url);
  assert.deepEqual(events.map(({ id }) => id).sort(), answered.sort());
});
