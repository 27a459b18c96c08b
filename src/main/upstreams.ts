import type { Config } from '../config/schema.ts';
import { createTranscoder, type SharedTranscoder } from '../inference/audio/transcode.ts';
import { createLocalEngines, type Engines } from '../inference/engines/local-engines.ts';
import { buildSnapshot, simulatorName } from '../inference/models/build-snapshot.ts';
import { createHealthChecks, startRestLooks } from '../inference/models/health-checks.ts';
import { createKnownModels, createModelRefresh } from '../inference/models/known-models.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { LocalServer } from '../inference/providers/probe-local.ts';
import { createHealth, type Health } from '../inference/routing/health.ts';
import { createSilenceWatch, type SilenceWatch } from '../inference/routing/silence.ts';
import type { ProxyOf } from '../inference/transport/proxy.ts';
import { createTransport } from '../inference/transport/send.ts';
import type { Transport } from '../inference/transport/upstream-call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { PlanBook } from '../metering/plan-book.ts';
import type { Log } from '../observe/log.ts';
import { type DataFolder, readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';
import { every } from './by-time.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createPrices } from './prices.ts';
import type { TakenUp } from './setup.ts';

/** Everything that answers requests: transport, local models, and the present models of providers. */
export interface Upstreams extends SnapshotKeeper {
  transport: Transport;
  health: Health;
  silence: SilenceWatch;
  transcoder: SharedTranscoder;
  engines: Engines;
}

export interface UpstreamsParts {
  options: GatewayOptions;
  folder: DataFolder;
  plans(): PlanBook;
  proxyOf: ProxyOf;
  clock: Clock;
  /** Gets the function that closes each part at once. The end of the transport is left to its last user. */
  opened(close: () => Promise<void> | void): void;
}

/** How often what waits for an upstream is looked at. */
const silenceLookMs = 250;

export async function openUpstreams({
  options,
  folder,
  plans,
  proxyOf,
  clock,
  opened,
}: UpstreamsParts): Promise<Upstreams> {
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
  const shared = { transport, health, clock };
  const keeper = await keepSnapshot({ ...shared, lookForEngines: look, config, env, locals, folder, plans, log });
  opened(keeper.close);
  opened(startRestLooks({ ...shared, snapshot: keeper.snapshot }));
  const silence = createSilenceWatch(health);
  opened(every(silenceLookMs, () => silence.look(clock.monotonicMs())));
  return { ...keeper, transport, health, silence, transcoder, engines };
}

/** How often it is looked whether the price list is due for an update. */
const updateLookMs = 3_600_000;

interface SnapshotParts {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  /** Servers on this machine that the operator has confirmed. */
  locals: readonly LocalServer[];
  folder: DataFolder;
  /** Finds what this machine can do by itself, each time anew. */
  lookForEngines(): Engines;
  plans(): PlanBook;
  transport: Transport;
  health: Health;
  clock: Clock;
  log: Log;
}

/** The configuration in force with its providers and models, made anew when any of them changes. */
interface SnapshotKeeper {
  snapshot(): Snapshot;
  /** Not null while the price list is loaded after a start: requests wait for it. */
  pricing(): Promise<void> | null;
  /** Resolves when new requests go by it; `heard`: when those who are asked for their models have answered. */
  reconfigure(config: Config, asking: 'every provider' | 'nobody'): Promise<TakenUp>;
  useLocals(locals: readonly LocalServer[]): Promise<void>;
  /** Loads prices and asks every provider for its models; resolves when all have answered or failed. */
  look(): Promise<void>;
  /** No provider is asked for its models any more. */
  stopLooking(): void;
  /** Called after the last request. */
  close(): Promise<void>;
}

async function keepSnapshot(parts: SnapshotParts): Promise<SnapshotKeeper> {
  const { env, folder, plans, transport, health, clock, log } = parts;
  let { config, locals } = parts;
  const known = createKnownModels({
    transport,
    recall: () => readIfThere(folder.modelsFile) ?? null,
    keep(text) {
      try {
        replaceFile(folder.modelsFile, text);
      } catch (error) {
        // Only the next start would miss it.
        log.warn({ error: String(error) }, 'the lists of models could not be stored');
      }
    },
  });
  const prices = createPrices({ transport, clock, file: folder.pricesFile, warn: (message) => log.warn(message) });
  /** Not null: the price list is loaded for the first time. */
  let pricing: Promise<void> | null = null;
  let simulator: { url: string; close(): Promise<void> } | null = null;
  const healthChecks = createHealthChecks({ clock, transport, health });
  let snapshot = await takeSnapshot();
  healthChecks.follow(snapshot);

  async function takeSnapshot(): Promise<Snapshot> {
    const built = buildSnapshot({
      config,
      env,
      locals,
      known,
      prices: prices.list,
      plans,
      engines: parts.lookForEngines(),
      simulatorUrl: simulator?.url ?? null,
      nowMs: clock.wallMs(),
    });
    if (built.kind === 'needs-simulator') {
      // Loaded at need: where providers do everything it costs nothing.
      const { createSimulator } = await import('../simulator/simulator.ts');
      const started = createSimulator({ purpose: 'zero-key', name: simulatorName });
      const { url } = await started.listen({ host: '127.0.0.1', port: 0 });
      simulator = { url, close: () => started.close() };
      return takeSnapshot();
    }
    for (const problem of built.problems) log.warn(problem);
    return built.snapshot;
  }

  async function renew(): Promise<void> {
    let next = await takeSnapshot();
    if (await prices.load(config, next.providers.values())) next = await takeSnapshot();
    snapshot = next;
    health.retain(next.models.targets());
    healthChecks.follow(next);
  }

  async function updatePrices(): Promise<void> {
    if (await prices.update(config)) await renew();
  }

  /** Large, and nothing that a start waits for. A request that comes sooner waits for it. */
  async function loadPrices(): Promise<void> {
    try {
      if (await prices.load(config, snapshot.providers.values())) await renew();
      void updatePrices().catch((error: unknown) => log.error({ error: String(error) }, 'prices could not be updated'));
    } catch (error) {
      log.error({ error: String(error) }, 'prices could not be loaded');
    } finally {
      pricing = null;
    }
  }

  const modelRefresh = createModelRefresh({
    known,
    snapshot: () => snapshot,
    renew,
    onHeard(provider) {
      const nowMs = clock.monotonicMs();
      for (const target of snapshot.models.targets())
        if (target.provider === provider) health.checked(target, 'passed', 0, nowMs);
    },
    onTrouble(provider, message, weight) {
      if (weight === 'unheard') log.warn(`${message}; its models are not known, and Culvert asks again`);
      else log.debug({ provider }, message);
    },
    onError: (error) => log.error({ error: String(error) }, 'models could not be listed'),
  });

  const stopUpdates = every(updateLookMs, () => {
    void updatePrices().catch((error: unknown) => log.error({ error: String(error) }, 'prices could not be updated'));
  });

  return {
    snapshot: () => snapshot,
    pricing: () => pricing,
    async reconfigure(next, asking) {
      config = next;
      await renew();
      return { heard: asking === 'nobody' ? Promise.resolve() : modelRefresh.look() };
    },
    async useLocals(more) {
      locals = [...locals, ...more];
      await renew();
      await modelRefresh.look();
    },
    look() {
      pricing = loadPrices();
      return modelRefresh.look();
    },
    stopLooking() {
      stopUpdates();
      modelRefresh.stop();
    },
    async close() {
      healthChecks.stop();
      await simulator?.close();
    },
  };
}
