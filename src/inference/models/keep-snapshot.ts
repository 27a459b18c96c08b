import { isDeepStrictEqual } from 'node:util';
import type { TakenUp } from '../../books/auth/setup.ts';
import type { PlanBook } from '../../books/metering/plan-book.ts';
import type { Config } from '../../config/schema.ts';
import type { Engines } from '../../engines/local-engines.ts';
import type { LocalServer } from '../../formats/providers/probe-local.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { oneAfterTheOther } from '../../kernel/sharing/one-after-the-other.ts';
import type { Health } from '../../routing/health.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import { buildSnapshot, type SnapshotSources } from './build-snapshot.ts';
import { createHealthChecks } from './health-checks.ts';
import { createKnownModels, createModelRefresh, type KnownModelParts } from './known-models.ts';
import { createPrices, type SavedPrices } from './prices.ts';
import type { Snapshot, Snapshots } from './snapshot.ts';
import type { ScopedStep } from './steps.ts';

type Report = (facts: object, message: string) => void;

export interface RunningSimulator {
  url: string;
  close(): Promise<void>;
}

/** How often it is looked whether the price list is due for an update. */
const updateLookMs = 3_600_000;

export interface SnapshotParts extends Pick<SnapshotSources, 'config' | 'env' | 'locals' | 'out' | 'steps'> {
  /** Lists of models of an earlier process. */
  models: Pick<KnownModelParts, 'recall' | 'keep'>;
  prices: SavedPrices;
  /** Looks for the engines of this machine, each time anew. */
  lookForEngines(): Engines;
  /** Starts the upstream that answers where nothing is configured. */
  startSimulator(): Promise<RunningSimulator>;
  plans(): PlanBook;
  /** Steps of a configuration, such as its guards. Default: none. */
  stepsOf?(config: Config): Promise<readonly ScopedStep[]>;
  transport: Transport;
  health: Health;
  clock: Clock;
  log: { error: Report; warn(message: string): void; debug: Report };
}

/** The configuration in force with its providers and models, made anew when any of them changes. */
export interface SnapshotKeeper {
  readonly snapshots: Snapshots;
  /** Resolves when new requests go by it; `providersListed`: when those who are asked for their models have answered. */
  reconfigure(config: Config, asking: 'every provider' | 'nobody'): Promise<TakenUp>;
  useLocals(locals: readonly LocalServer[]): Promise<void>;
  /** Loads prices and asks every provider for its models; resolves when all have answered or failed. */
  look(): Promise<void>;
  /** No provider is asked for its models any more. */
  stopLooking(): void;
  /** Called after the last request. */
  close(): Promise<void>;
}

export async function keepSnapshot(parts: SnapshotParts): Promise<SnapshotKeeper> {
  const { env, plans, transport, health, clock, log } = parts;
  let { config, locals } = parts;
  const known = createKnownModels({ transport, ...parts.models });
  const prices = createPrices({ transport, clock, saved: parts.prices, warn: (message) => log.warn(message) });
  /** Not null: the price list is loaded for the first time. */
  let pricing: Promise<void> | null = null;
  let simulator: Promise<RunningSimulator> | null = null;
  let simulatorUrl: string | null = null;
  let isClosed = false;
  // An earlier configuration must not come after a later one, nor its guards into it.
  const inTurn = oneAfterTheOther();
  const healthChecks = createHealthChecks({ clock, transport, health });
  const snapshots = { current: await takeSnapshot(config) };
  healthChecks.follow(snapshots.current);

  async function takeSnapshot(latest: Config): Promise<Snapshot> {
    const configured = (await parts.stepsOf?.(latest)) ?? [];
    const built = buildSnapshot({
      config: latest,
      env,
      locals,
      known,
      prices: prices.list,
      plans,
      out: parts.out,
      steps: [...configured, ...(parts.steps ?? [])],
      engines: parts.lookForEngines(),
      simulatorUrl,
      nowMs: clock.wallMs(),
    });
    if (built.kind === 'needs-simulator') {
      // Nobody would close it.
      if (isClosed) return snapshots.current;
      // One for all who need it at once: another would never be closed.
      simulator ??= parts.startSimulator().catch((error: unknown) => {
        simulator = null;
        throw error;
      });
      simulatorUrl = (await simulator).url;
      return takeSnapshot(latest);
    }
    for (const problem of built.problems) log.warn(problem);
    return built.snapshot;
  }

  const renew = (given?: Config) =>
    inTurn(async () => {
      const latest = given ?? config;
      let next = await takeSnapshot(latest);
      if (await prices.load(latest, next.providers.values())) next = await takeSnapshot(latest);
      config = latest;
      health.retain(unchangedTargets(next, snapshots.current));
      snapshots.current = { ...next, pricing };
      healthChecks.follow(next);
    });

  async function updatePrices(): Promise<void> {
    if (await prices.update(config)) await renew();
  }

  /** Large, and nothing that a start waits for. A request that comes sooner waits for it. */
  async function loadPrices(): Promise<void> {
    try {
      if (await prices.load(config, snapshots.current.providers.values())) await renew();
      void updatePrices().catch((error: unknown) => log.error({ error: String(error) }, 'prices could not be updated'));
    } catch (error) {
      log.error({ error: String(error) }, 'prices could not be loaded');
    } finally {
      pricing = null;
      snapshots.current = { ...snapshots.current, pricing };
    }
  }

  const modelRefresh = createModelRefresh({
    known,
    snapshots,
    renew,
    onListed(listed) {
      const nowMs = clock.monotonicMs();
      for (const target of snapshots.current.models.targets())
        if (listed.has(target.provider)) health.checked(target, 'passed', 0, nowMs);
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
    snapshots,
    async reconfigure(next, asking) {
      await renew(next);
      return { providersListed: asking === 'nobody' ? Promise.resolve() : modelRefresh.look() };
    },
    async useLocals(more) {
      locals = [...locals, ...more];
      await renew();
      await modelRefresh.look();
    },
    look() {
      pricing = loadPrices();
      snapshots.current = { ...snapshots.current, pricing };
      return modelRefresh.look();
    },
    stopLooking() {
      stopUpdates();
      modelRefresh.stop();
    },
    async close() {
      isClosed = true;
      healthChecks.stop();
      await (await simulator)?.close();
    },
  };
}

/** Targets of unchanged providers: failures before a change, such as of a key, say nothing of a provider now. */
function unchangedTargets({ models, providers }: Snapshot, { providers: before }: Snapshot) {
  const changed = new Set<string>();
  for (const [name, { config }] of providers)
    if (!isDeepStrictEqual(config, before.get(name)?.config)) changed.add(name);
  return models.targets().filter(({ provider }) => !changed.has(provider));
}
