import { postgresMissing } from '../../test/start-postgres.ts';
import { redisMissing } from '../../test/start-redis.ts';
import { type Subject, startBareProxy, startCulvert, startNginx } from '../gateway/processes.ts';
import { startStores } from '../gateway/stores.ts';
import { commitOf } from '../results.ts';
import { type Gateway, programIn, type Running, said } from './gateway.ts';

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

/** Of a plan without limits. */
const freeKey = 'sk-cv-bench-free-0001';

const culvert: Gateway = {
  name: 'Culvert',
  keeps: 'a key, every kind of limit, a ledger in SQLite, metrics and a log line a request',
  get: 'a part of this repository',
  manyCores: 'server.processes over its embedded storage',
  find: () => process.execPath,
  version: () => commitOf('.'),
  start: async ({ upstreamPort, cores, workers }) =>
    running(await startCulvert({ upstreamPort, cores, server: { processes: workers } })),
};

const culvertFree: Gateway = {
  ...culvert,
  name: 'Culvert-free',
  keeps: 'a key without a limit, a ledger in SQLite, metrics and a log line a request',
  async start({ upstreamPort, cores, workers }) {
    const subject = await startCulvert({
      ...{ upstreamPort, cores, server: { processes: workers } },
      plans: { free: { windows: 'off', rpm: 'off' } },
      keys: [{ key: freeKey, account: 'free', name: 'bench', plan: 'free' }],
    });
    return { ...running(subject), headers: { authorization: `Bearer ${freeKey}` } };
  },
};

const storesMissing = postgresMissing || redisMissing;

const culvertShared: Gateway = {
  ...culvert,
  name: 'Culvert-shared',
  keeps: 'the same as Culvert over PostgreSQL (without fsync) and Redis, whose CPU and memory count as its own',
  get: 'npm run setup:test-tools',
  manyCores: 'server.processes over PostgreSQL and Redis',
  find: () => (storesMissing === false ? process.execPath : null),
  async start({ upstreamPort, cores, workers }) {
    const stores = await startStores(cores);
    const subject = await startCulvert({
      ...{ upstreamPort, cores, server: { processes: workers } },
      storage: stores.storage,
    });
    const stop = async () => {
      await subject.stop();
      await stores.stop();
    };
    return { ...running(subject), stores: [stores.postgres.pid, stores.redis.pid], stop };
  },
};

/** What others are read against. */
export const ours: readonly Gateway[] = [nginx, bare, culvert, culvertFree, culvertShared];

function running(subject: Subject): Running {
  return { ...subject, model: 'same', stores: [] };
}
