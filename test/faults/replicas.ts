import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { overUpstreams, testKey, testProcesses } from '../start-gateway.ts';
import type { StartedPostgres } from '../start-postgres.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import type { StartedRedis } from '../start-redis.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { type Asked, ask } from './books-balance.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';

export interface Replicas {
  all: readonly GatewayProcess[];
  urls: readonly string[];
  upstream: Upstream;
}

/** Time that a loaded machine may add to the 250 ms after which a request is refused. */
export const refusedMaxMs = 250 + 250;

export const storageOver = (database: string, redis: Pick<StartedRedis, 'url'>) => ({
  database,
  state: redis.url,
  secret: 'c'.repeat(44),
});

/**
 * Gateway processes over one database and one Redis, in front of one upstream that answers at once. They are `ready`,
 * as a balancer would wait for it, or have only just begun to listen.
 */
export async function startReplicas(
  t: Lifetime,
  count: number,
  {
    postgres,
    redis,
    ready = true,
    ...config
  }: { postgres: StartedPostgres; redis: Pick<StartedRedis, 'url'>; ready?: boolean } & Record<string, unknown>,
): Promise<Replicas> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const storage = { ...storageOver(postgres.newDatabase(), redis), ...(config.storage as object) };
  const all = await Promise.all(
    Array.from({ length: count }, () =>
      startGatewayProcess(t, {
        ...overUpstreams(upstream.url),
        ...config,
        server: { processes: testProcesses, ...(config.server as object) },
        storage: { ...storage, data_dir: join(temporaryFolder(t), 'data') },
      }),
    ),
  );
  for (const { url } of ready ? all : []) await until(`${url} is ready`, () => isReady(url));
  return { all, urls: all.map(({ url }) => url), upstream };
}

/** Every answer that callers got, who ask on and on, until each of them was refused with 429. */
export interface UsedUp {
  answered: string[];
  refused: Asked[];
  /** 503s, after which a caller asks again. */
  unavailable: Asked[];
}

/** Uses up a plan: `callers` at once, spread over all replicas, as SDKs do it. Any other answer is an error. */
export async function useUp(
  urls: readonly string[],
  callers: number,
  { key = testKey, seen = newSeen() }: { key?: string; seen?: UsedUp } = {},
): Promise<UsedUp> {
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let turn = caller; ; turn++) {
        const asked = await ask(urls[turn % urls.length]!, {}, key);
        if (asked.status === 200) seen.answered.push(asked.id!);
        else if (asked.status === 503) {
          seen.unavailable.push(asked);
          await after(20);
        } else if (asked.status === 429) return void seen.refused.push(asked);
        else throw new Error(`${asked.status}: ${asked.text}`);
      }
    }),
  );
  return seen;
}

export function newSeen(): UsedUp {
  return { answered: [], refused: [], unavailable: [] };
}

/** A balancer's health check. */
export async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`)).status === 200;
}
