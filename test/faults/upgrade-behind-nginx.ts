import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { overUpstreams } from '../start-gateway.ts';
import { startNginx } from '../start-nginx.ts';
import { startPostgres } from '../start-postgres.ts';
import { culvertBin, type Lifetime, temporaryFolder } from '../start-process.ts';
import { startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './books-balance.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { isReady, storageOver } from './replicas.ts';

/** Half of them stream. */
const callers = 40;
const replicasCount = 3;
/** On a busy machine an answer may take seconds. */
const graceMs = 20_000;

export interface UpgradeSeen {
  /** Ids of the requests that were answered in full. */
  answered: string[];
  /** The status and the end of each other answer. */
  lost: string[];
  /** A replica of this version. */
  url: string;
  /** Of nginx's errors. */
  log: string;
}

/**
 * Three replicas of an earlier version are replaced one by one behind nginx while callers ask. `loaded` is waited for
 * before the first replacement, between two, and after the last.
 */
export async function upgradeBehindNginx(
  t: Lifetime,
  earlierBin: string,
  loaded: (answered: () => number) => Promise<unknown>,
): Promise<UpgradeSeen> {
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
  for (let i = 0; i < replicasCount; i++) replicas.push(await start(earlierBin));
  const urls = replicas.map(({ url }) => url);
  const nginx = await startNginx(t, 'trial.conf', urls);

  const answered: string[] = [];
  const lost: string[] = [];
  let loading = true;
  const call = async (caller: number) => {
    const stream = caller % 2 === 0;
    while (loading) {
      const { status, id, text } = await ask(nginx.origin, { stream });
      const isWhole = status === 200 && (stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}'));
      if (isWhole) answered.push(String(id));
      else lost.push(`${status} ${text.slice(-200)}`);
    }
  };
  const load = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  for (const [i, replica] of replicas.entries()) {
    await loaded(() => answered.length);
    const ended = once(replica.process, 'exit');
    replica.process.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    replicas[i] = await start(culvertBin, replica.url);
  }
  await loaded(() => answered.length);
  loading = false;
  await load;
  return { answered, lost, url: String(urls[0]), log: nginx.log };
}
