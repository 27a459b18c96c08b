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

const culvert: Gateway = {
  name: 'Culvert',
  keeps: 'a key, every kind of limit, a ledger, metrics and a log line a request',
  get: 'a part of this repository',
  manyCores: 'server.processes; over PostgreSQL (without fsync) and Redis, whose CPU and memory count as its own',
  find: () => process.execPath,
  version: () => commitOf('.'),
  async start({ upstreamPort, cores, workers }) {
    if (workers === 1) return running(await startCulvert({ upstreamPort, cores }));
    const stores = await startStores(cores);
    const subject = await startCulvert({
      upstreamPort,
      cores,
      server: { processes: workers },
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
export const ours: readonly Gateway[] = [nginx, bare, culvert];

function running(subject: Subject): Running {
  return { ...subject, model: 'same', stores: [] };
}
