import type { Config } from '../../config/schema.ts';
import { createLocalEngines, type Engines } from '../../engines/local-engines.ts';
import { probeGet } from '../../formats/providers/probe-get.ts';
import { probeLocalServers } from '../../formats/providers/probe-local.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { buildSnapshot } from './build-snapshot.ts';
import type { SnapshotParts } from './keep-snapshot.ts';
import { createKnownModels } from './known-models.ts';
import { createPrices } from './prices.ts';
import type { Snapshot } from './snapshot.ts';

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
 * Makes the snapshot that a start would serve here: of the configuration, the remembered lists of models of the data
 * folder and, where they are used unasked, servers on this machine. It asks no provider and writes nothing.
 */
export async function snapshotOfStart(
  config: Config,
  env: NodeJS.ProcessEnv,
  stored: Pick<SnapshotParts, 'models' | 'prices'> & { dataDir: string },
): Promise<{ snapshot: Snapshot; problems: readonly string[] }> {
  const known = createKnownModels({ transport: noTransport, recall: stored.models.recall, keep() {} });
  const usesLocals = env.CULVERT_AUTODETECT === '1' || config.autodetect === 'on';
  const sources = {
    config,
    env,
    locals: usesLocals ? await probeLocalServers({ probeGet }) : [],
    known,
    engines: enginesOf(stored.dataDir, env),
    simulatorUrl: nobodyThere,
    nowMs: Date.now(),
  };
  let built = buildSnapshot(sources);
  const warnings: string[] = [];
  const prices = createPrices({
    transport: noTransport,
    clock: systemClock,
    saved: stored.prices,
    warn: (message) => void warnings.push(message),
  });
  if (built.kind === 'built' && (await prices.load(config, built.snapshot.providers.values())))
    built = buildSnapshot({ ...sources, prices: prices.list });
  if (built.kind !== 'built') throw new Error('a snapshot with a simulator needs no other');
  return { snapshot: built.snapshot, problems: [...built.problems, ...warnings] };
}

function enginesOf(dataDir: string, env: NodeJS.ProcessEnv): Engines {
  const decode = (): never => {
    throw new Error('a preview decodes no sound');
  };
  return createLocalEngines({ dataDir, clock: systemClock, decode, searchPath: env.PATH ?? '' }).look();
}
