import type { StartedPostgres } from '../start-postgres.ts';
import type { Lifetime } from '../start-process.ts';
import { startRedis } from '../start-redis.ts';
import { ask } from './books-balance.ts';
import { startReplicas } from './replicas.ts';

export const burst = { callers: 600, replicas: 3, allowed: 100 };

/** Plans that allow `burst.allowed` requests. */
export const burstPlans = {
  'calls a minute': { windows: 'off', rpm: burst.allowed, concurrency: 'off' },
  'units of a window': {
    windows: { '5h': burst.allowed, week: 10_000, month: 20_000 },
    rpm: 'off',
    concurrency: 'off',
  },
};

/** Limits are judged here: on a machine that is busy with other things, the loop would refuse some for its own sake. */
const begunAll = { server: { overload: 'off' } };

/** All callers ask at once at replicas that have only just started: answers by status, and the message of a 503. */
export async function burstAtOnce(
  t: Lifetime,
  postgres: StartedPostgres,
  plan: object,
): Promise<{ counts: Record<string, number>; unavailable: string | undefined }> {
  const redis = await startRedis(t);
  const options = { postgres, redis, plans: { default: plan }, ...begunAll };
  const { urls } = await startReplicas(t, burst.replicas, options);
  const seen = await Promise.all(
    Array.from({ length: burst.callers }, (_, i) => ask(urls[i % burst.replicas] as string)),
  );
  const by = Object.groupBy(seen, ({ status }) => status);
  const counts = Object.fromEntries(Object.entries(by).map(([status, some]) => [status, some?.length ?? 0]));
  return { counts, unavailable: by[503]?.[0]?.text };
}
