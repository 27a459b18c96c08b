import { isDeepStrictEqual } from 'node:util';
import { every } from '../../kernel/every.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { Standing } from './service-health.ts';

/** A service elsewhere that the configuration names. */
export interface ConfiguredService<Config> {
  readonly name: string;
  readonly config: Config;
  readonly standing: Standing;
  look(): Promise<void>;
  close(): Promise<void>;
}

/** The services of a table of the configuration. */
export interface FollowedServices<Service> {
  /** The services in force, in the order of the configuration. */
  all(): readonly Service[];
  get(name: string): Service | undefined;
  /** Resolves when each of them, or the one of this name, was looked at once, or this many ms have passed. */
  known(waitMaxMs: number, only: string | null): Promise<void>;
  close(): Promise<void>;
}

type Table<Config> = Readonly<Record<string, Config>>;

/** How soon a change of the configuration is seen where nobody asks. */
const followMs = 1_000;

/** The services follow the configuration: within a second after the start and after each change they are looked at. */
export function followServices<Config, Service extends ConfiguredService<Config>>(
  table: () => Table<Config>,
  open: (name: string, config: Config) => Service,
): FollowedServices<Service> {
  const services = new Map<string, Service>();
  let taken: Table<Config> = {};

  /** The services of the present configuration. A changed one is closed, and another opened. */
  function inForce(): ReadonlyMap<string, Service> {
    const configured = table();
    if (configured === taken) return services;
    taken = configured;
    const before = new Map(services);
    services.clear();
    for (const [name, config] of Object.entries(configured)) {
      const known = before.get(name);
      const same = known !== undefined && isDeepStrictEqual(known.config, config);
      const service = same ? known : open(name, config);
      services.set(name, service);
      if (same) before.delete(name);
      else void service.look();
    }
    for (const removed of before.values()) void removed.close();
    return services;
  }

  const stopFollowing = every(followMs, () => void inForce());

  return {
    all: () => [...inForce().values()],
    get: (name) => inForce().get(name),
    async known(waitMaxMs, only) {
      const unknown = [...inForce().values()].filter(
        ({ name, standing }) => standing.at === 'unknown' && (only === null || name === only),
      );
      if (unknown.length === 0) return;
      await withinMs(waitMaxMs, Promise.all(unknown.map((service) => service.look())), null);
    },
    async close() {
      stopFollowing();
      await Promise.all([...services.values()].map((service) => service.close()));
    },
  };
}
