import { postgresMissing, startPostgres } from '../../test/start-postgres.ts';
import { redisMissing, startRedis } from '../../test/start-redis.ts';
import { pin } from './processes.ts';
import { childrenOf, treeOf } from './tree.ts';

/** PostgreSQL, which syncs nothing here, and Redis beside it. */
export interface Stores {
  /** For `storage` of culvert.yaml. */
  storage: Readonly<Record<string, unknown>>;
  postgres: { pid: number; url: string };
  redis: { pid: number; cli(...args: string[]): string };
  stop(): Promise<void>;
}

/** On these cores. */
export async function startStores(cores: string): Promise<Stores> {
  const missing = postgresMissing || redisMissing;
  if (missing) throw new Error(missing);
  const postgres = await whoStarts(() => startPostgres(null));
  const redis = await whoStarts(() => startRedis(null));
  for (const pid of [postgres.pid, redis.pid].flatMap(treeOf)) pin(pid, cores);
  const url = postgres.started.newDatabase();
  return {
    storage: { database: url, state: redis.started.url, secret: Buffer.alloc(32, 1).toString('base64') },
    postgres: { pid: postgres.pid, url },
    redis: { pid: redis.pid, cli: redis.started.cli },
    async stop() {
      await Promise.all([postgres.started.stop('SIGKILL'), redis.started.kill()]);
    },
  };
}

/** What is started, and the child of this process that it is. */
async function whoStarts<Started>(start: () => Promise<Started>): Promise<{ started: Started; pid: number }> {
  const before = childrenOf(process.pid);
  const started = await start();
  const pid = childrenOf(process.pid).find((child) => !before.includes(child));
  if (pid === undefined) throw new Error('it ended at once');
  return { started, pid };
}
