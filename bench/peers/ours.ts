import { postgresMissing, startPostgres } from '../../test/start-postgres.ts';
import { redisMissing, startRedis } from '../../test/start-redis.ts';
import { pin, type Subject, startBareProxy, startCulvert, startNginx } from '../gateway/processes.ts';
import { commitOf } from '../results.ts';
import { type Gateway, programIn, type Running, said } from './gateway.ts';
import { childrenOf, treeOf } from './tree.ts';

const nginx: Gateway = {
  name: 'nginx',
  keeps: 'nothing, only forwards',
  get: 'the package nginx of the system',
  manyCores: 'worker_processes',
  find: (folder) => programIn(folder, 'nginx') ?? programIn('/usr/sbin', 'nginx'),
  version: (program) => said(program, '-v'),
  start: async ({ program, upstreamPort, cores, workers }) =>
    running(await startNginx(upstreamPort, { program, cores, workers })),
};

const bare: Gateway = {
  name: 'bare',
  keeps: 'nothing: a proxy in Node over undici that only forwards',
  get: 'a part of this repository',
  manyCores: null,
  find: () => process.execPath,
  version: () => `on Node ${process.versions.node}`,
  start: async ({ upstreamPort, cores }) => running(await startBareProxy(upstreamPort, cores)),
};

const culvert: Gateway = {
  name: 'Culvert',
  keeps: 'a key, every kind of limit, a ledger, metrics and a log line a request',
  get: 'a part of this repository',
  manyCores: 'server.processes; over PostgreSQL (without fsync) and Redis, whose CPU and memory count as its own',
  find: () => process.execPath,
  version: () => commitOf('.'),
  async start({ upstreamPort, cores, workers }) {
    if (workers === 1) return running(await startCulvert({ upstreamPort, cores }));
    const missing = postgresMissing || redisMissing;
    if (missing) throw new Error(missing);
    const before = childrenOf(process.pid);
    const [postgres, redis] = [await startPostgres(null), await startRedis(null)];
    const stores = childrenOf(process.pid).filter((pid) => !before.includes(pid));
    for (const pid of stores.flatMap(treeOf)) pin(pid, cores);
    const database = {
      database: postgres.newDatabase(),
      state: redis.url,
      secret: Buffer.alloc(32, 1).toString('base64'),
    };
    const server = { processes: workers };
    const subject = await startCulvert({ upstreamPort, cores, server, storage: database });
    const stop = async () => {
      await subject.stop();
      await Promise.all([postgres.stop('SIGKILL'), redis.kill()]);
    };
    return { ...running(subject), stores, stop };
  },
};

/** What others are read against. */
export const ours: readonly Gateway[] = [nginx, bare, culvert];

function running(subject: Subject): Running {
  return { ...subject, model: 'same', stores: [] };
}
