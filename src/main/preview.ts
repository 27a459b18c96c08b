import { existsSync } from 'node:fs';
import type { Stored } from '../auth/account-store.ts';
import { createSetup } from '../auth/setup.ts';
import type { Config } from '../config/schema.ts';
import { createLocalEngines, type Engines } from '../inference/engines/local-engines.ts';
import { buildSnapshot } from '../inference/models/build-snapshot.ts';
import { createKnownModels } from '../inference/models/known-models.ts';
import { createPrices } from '../inference/models/prices.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import { probeGet } from '../inference/providers/probe-get.ts';
import { probeLocalServers } from '../inference/providers/probe-local.ts';
import type { Transport } from '../inference/transport/upstream-call.ts';
import { systemClock } from '../kernel/clock.ts';
import { openSecrets } from '../stores/secrets.ts';
import { dataFolderAt } from '../stores/sqlite/data-folder.ts';
import { keptIn } from './upstreams.ts';

/** The simulator is named, not asked. */
const nobodyThere = 'http://127.0.0.1:9';

const noTransport: Transport = {
  send() {
    throw new Error('a preview asks nobody');
  },
  connect() {
    throw new Error('a preview asks nobody');
  },
  async close() {},
  destroy() {},
};

/**
 * The same with the stored entries of the data folder; without those of a shared database, which a preview must not
 * migrate.
 */
export async function previewHere(config: Config, env: NodeJS.ProcessEnv): ReturnType<typeof previewSnapshot> {
  const folder = dataFolderAt(config.storage.data_dir);
  if (config.storage.database !== 'sqlite' || !existsSync(folder.culvertDb)) return previewSnapshot(config, env);
  const stored = await storedIn(folder.culvertDb);
  if (stored instanceof Error) {
    const { snapshot, problems } = await previewSnapshot(config, env);
    return { snapshot, problems: [`what is kept cannot be read: ${stored.message}`, ...problems] };
  }
  const secrets = openSecrets(config, folder);
  const setup = createSetup({ config, env, secrets, log: { warn() {}, error() {} } });
  setup.take(stored);
  const told = [...setup.report().problems].map(([kept, problem]) => `${kept}: ${problem}`);
  const { snapshot, problems } = await previewSnapshot(setup.inForce(), env);
  return { snapshot, problems: [...told, ...problems] };
}

/** Or why it cannot be read: a damaged file keeps nobody from a preview. */
async function storedIn(file: string): Promise<Stored | Error> {
  const { openSqliteAccountStore } = await import('../stores/sqlite/stores.ts');
  try {
    const store = openSqliteAccountStore(file);
    return await store.load().finally(() => store.close());
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * What a start would serve here: the configuration, the remembered lists of models of the data folder and, if they are
 * used without being asked for, servers on this machine. It asks no provider and writes nothing.
 */
export async function previewSnapshot(
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<{ snapshot: Snapshot; problems: readonly string[] }> {
  const folder = dataFolderAt(config.storage.data_dir);
  const { models, prices: keptPrices } = keptIn(folder, { warn() {} });
  const known = createKnownModels({
    transport: noTransport,
    recall: models.recall,
    keep() {},
  });
  const usesLocals = env.CULVERT_AUTODETECT === '1' || config.autodetect === 'on';
  const sources = {
    config,
    env,
    locals: usesLocals ? await probeLocalServers({ probeGet }) : [],
    known,
    engines: enginesOf(folder.path, env),
    simulatorUrl: nobodyThere,
    nowMs: Date.now(),
  };
  let built = buildSnapshot(sources);
  const told: string[] = [];
  const prices = createPrices({
    transport: noTransport,
    clock: systemClock,
    saved: keptPrices,
    warn: (message) => void told.push(message),
  });
  if (built.kind === 'built' && (await prices.load(config, built.snapshot.providers.values())))
    built = buildSnapshot({ ...sources, prices: prices.list });
  if (built.kind !== 'built') throw new Error('a snapshot with a simulator needs no other');
  return { snapshot: built.snapshot, problems: [...built.problems, ...told] };
}

function enginesOf(dataDir: string, env: NodeJS.ProcessEnv): Engines {
  const decode = (): never => {
    throw new Error('a preview decodes no sound');
  };
  return createLocalEngines({ dataDir, clock: systemClock, decode, searchPath: env.PATH ?? '' }).look();
}
