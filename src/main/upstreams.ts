import { dirname, resolve } from 'node:path';
import { createTranscoder, type SharedTranscoder } from '../engines/audio/transcode.ts';
import { createLocalEngines, type Engines } from '../engines/local-engines.ts';
import type { CountVerdict } from '../inference/guards/guard-steps.ts';
import { type GuardedCallers, loadGuards } from '../inference/guards/load-guards.ts';
import { LiveHooks } from '../inference/hooks/load-hooks.ts';
import { simulatorName } from '../inference/models/build-snapshot.ts';
import { startRestLooks } from '../inference/models/health-checks.ts';
import { keepSnapshot, type RunningSimulator, type SnapshotKeeper } from '../inference/models/keep-snapshot.ts';
import type { KnownOut } from '../inference/models/rollbacks.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { createHealth, type Health } from '../routing/health.ts';
import { createSilenceWatch, type SilenceWatch } from '../routing/silence.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import type { ProxyOf } from '../upstream/transport/proxy.ts';
import { createTransport } from '../upstream/transport/send.ts';
import type { Transport } from '../upstream/transport/upstream-call.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { listsInFolder } from './lists-in-folder.ts';

/** Everything that answers requests: transport, local models, and the present models of providers. */
export interface Upstreams extends SnapshotKeeper {
  transport: Transport;
  health: Health;
  silence: SilenceWatch;
  transcoder: SharedTranscoder;
  engines: Engines;
  hooks: LiveHooks;
}

export interface UpstreamsParts {
  options: GatewayOptions;
  folder: DataFolder;
  callers: GuardedCallers & { planOf(account: string): string };
  out: KnownOut;
  proxyOf: ProxyOf;
  clock: Clock;
  metrics: { guarded: CountVerdict };
  /** Gets the function that closes each part at once. The end of the transport is left to its last user. */
  opened(close: () => Promise<void> | void): void;
}

/** How often what waits for an upstream is looked at. */
const silenceLookMs = 250;

export async function openUpstreams(parts: UpstreamsParts): Promise<Upstreams> {
  const { options, folder, callers, out, proxyOf, clock, metrics, opened } = parts;
  const { config, env, locals, log } = options;
  const searchPath = env.PATH ?? '';
  const transport = createTransport({ proxyOf });
  const health = createHealth({ clock });
  const transcoder = createTranscoder({ searchPath });
  opened(transcoder.close);
  const { engines, look, close } = createLocalEngines({
    dataDir: folder.path,
    clock,
    async *decode(tenant, ...sound) {
      yield* transcoder.of(tenant).decodeFile(...sound);
    },
    searchPath,
  });
  opened(close);
  const hooks = new LiveHooks();
  const hooksFolder = dirname(resolve(options.configFile ?? 'culvert.yaml'));
  opened(() => hooks.close());
  const shared = { transport, health, clock };
  const keeper = await keepSnapshot({
    ...shared,
    ...listsInFolder(folder, options),
    lookForEngines: look,
    startSimulator,
    config,
    env,
    locals,
    plans: callers.plans,
    out,
    log,
    ...(options.steps !== undefined && { steps: options.steps }),
    stepsOf: async (next) => [
      ...(await hooks.stepsOf(next, { ...shared, log, env, planOf: callers.planOf, folder: hooksFolder })),
      ...(await loadGuards(next, callers, { countVerdict: metrics.guarded, log, ...shared })),
    ],
  });
  opened(keeper.close);
  opened(startRestLooks({ ...shared, snapshots: keeper.snapshots }));
  const silence = createSilenceWatch(health, clock);
  opened(every(silenceLookMs, silence.look));
  return { ...keeper, transport, health, silence, transcoder, engines, hooks };
}

/** Loaded at need: where providers do everything it costs nothing. */
async function startSimulator(): Promise<RunningSimulator> {
  const { createSimulator } = await import('../simulator/simulator.ts');
  const started = createSimulator({ purpose: 'zero-key', name: simulatorName });
  const { url } = await started.listen({ host: '127.0.0.1', port: 0 });
  return { url, close: () => started.close() };
}
