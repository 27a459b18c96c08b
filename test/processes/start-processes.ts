import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GatewayProcess, startGatewayProcess } from '../faults/gateway-process.ts';
import { storageOver } from '../faults/replicas.ts';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';

/** Why tests of several processes cannot run here: a test's `skip`. */
export const storesMissing = postgresMissing || redisMissing;
const postgres = storesMissing === false ? await startPostgres(null) : null;
const redis = storesMissing === false ? await startRedis(null) : null;

/** Storage of a server of several processes, in a database of its own. */
export function sharedStorage(t: Lifetime) {
  return { ...storageOver(postgres!.newDatabase(), redis!), data_dir: join(temporaryFolder(t), 'data') };
}

export interface StartedProcesses extends GatewayProcess {
  /** Process ids of the workers that live. */
  workers(): number[];
  log(): string;
}

/** `culvert start` with two processes, all ready, in front of `upstreamUrl`. */
export async function startProcesses(
  t: Lifetime,
  upstreamUrl: string,
  config: Record<string, unknown> = {},
): Promise<StartedProcesses> {
  const log = join(temporaryFolder(t), 'log');
  const started = await startGatewayProcess(
    t,
    {
      ...overUpstreams(upstreamUrl),
      ...config,
      server: { processes: 2, ...(config.server as object) },
      storage: { ...sharedStorage(t), ...(config.storage as object) },
    },
    { log },
  );
  await until('all workers are ready', async () => (await fetch(`${started.url}/readyz`)).status === 200);
  return {
    ...started,
    workers: () => childrenOf(started.process.pid!),
    log: () => readFileSync(log, 'utf8'),
  };
}

/** The text of `/metrics`. */
export async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })).text();
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
