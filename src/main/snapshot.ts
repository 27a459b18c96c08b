import type { Config } from '../config/schema.ts';
import type { Engines } from '../inference/engines/local-engines.ts';
import { buildSnapshot, simulatorName } from '../inference/models/build-snapshot.ts';
import { createHealthChecks } from '../inference/models/health-checks.ts';
import { createKnownModels, createModelRefresh } from '../inference/models/known-models.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { LocalServer } from '../inference/providers/probe-local.ts';
import type { Health } from '../inference/routing/health.ts';
import type { Transport } from '../inference/transport/upstream-call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { PlanBook } from '../metering/plan-book.ts';
import type { Log } from '../observe/log.ts';
import { type DataFolder, readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';

export interface SnapshotParts {
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
export interface SnapshotKeeper {
  current(): Snapshot;
  reconfigure(config: Config): Promise<void>;
  useLocals(locals: readonly LocalServer[]): Promise<void>;
  /** Asks every provider for its models; resolves when all have answered or failed. */
  look(): Promise<void>;
  /** No provider is asked any more. */
  stop(): void;
  /** After the last request. */
  close(): Promise<void>;
}

export async function keepSnapshot(parts: SnapshotParts): Promise<SnapshotKeeper> {
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
        log.warn({ error: String(error) }, 'the lists of models could not be remembered');
      }
    },
  });
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
    const next = await takeSnapshot();
    snapshot = next;
    health.retain(next.models.targets());
    healthChecks.follow(next);
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
      if (weight === 'unheard') log.warn(`${message}; its models are not known, and it is asked again`);
      else log.debug({ provider }, message);
    },
    onError: (error) => log.error({ error: String(error) }, 'models could not be listed'),
  });

  return {
    current: () => snapshot,
    async reconfigure(next) {
      config = next;
      await renew();
      await modelRefresh.look();
    },
    async useLocals(more) {
      locals = [...locals, ...more];
      await renew();
      await modelRefresh.look();
    },
    look: modelRefresh.look,
    stop: modelRefresh.stop,
    async close() {
      healthChecks.stop();
      await simulator?.close();
    },
  };
}
