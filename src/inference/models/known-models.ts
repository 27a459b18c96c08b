import { isObject } from '../../kernel/json.ts';
import { type Discovery, discoverModels, modelsPath } from '../providers/discover.ts';
import { encodeGet } from '../providers/encode.ts';
import type { DiscoveredModel } from '../providers/provider.ts';
import { getJson } from '../transport/get-json.ts';
import type { Transport } from '../transport/upstream-call.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { KnownModels } from './model-table.ts';

const listTimeoutMs = 10_000;

/** What providers say they serve: remembered over restarts, so that a start waits for nobody. */
export interface KnownModelStore {
  /** The models of these providers, as last heard. */
  of(providers: ReadonlyMap<string, ConfiguredProvider>): KnownModels;
  /** Sets what is known without asking, such as the simulator's. */
  put(provider: ConfiguredProvider, models: readonly DiscoveredModel[]): void;
  /** Asks all of them at once; true when anything changed, `unheard` too. Those that do not answer keep what was known. */
  refresh(providers: ReadonlyMap<string, ConfiguredProvider>): Promise<boolean>;
  /**
   * Those of them whose list nobody has heard yet, now or before: what they serve may be heard at the next look.
   * Not those that have no list.
   */
  unheard(providers: ReadonlyMap<string, ConfiguredProvider>): string[];
  /** How the last look at each ended, by provider name. */
  readonly lastLook: ReadonlyMap<string, Discovery>;
}

export interface KnownModelParts {
  transport: Transport;
  /** The remembered text, or null; and where to keep the next. */
  recall(): string | null;
  keep(text: string): void;
}

/** Starts from what was kept; what cannot be read is forgotten. */
export function createKnownModels(parts: KnownModelParts): KnownModelStore {
  const byPlace = readKept(parts.recall());
  const lastLook = new Map<string, Discovery>();

  function unheard(providers: ReadonlyMap<string, ConfiguredProvider>): string[] {
    return [...providers]
      .filter(([name, provider]) => {
        if (provider.simulated || modelsPath(provider.connection) === null) return false;
        const look = lastLook.get(name);
        return !byPlace.has(placeOf(provider)) && (look === undefined || (!look.ok && !hasNoList.has(look.reason)));
      })
      .map(([name]) => name);
  }

  return {
    lastLook,
    unheard,
    of: (providers) => new Map([...providers].map(([name, provider]) => [name, byPlace.get(placeOf(provider)) ?? []])),
    put(provider, models) {
      byPlace.set(placeOf(provider), models);
    },
    async refresh(providers) {
      const before = JSON.stringify([...byPlace]);
      const unheardBefore = unheard(providers).length;
      await Promise.all(
        [...providers].map(async ([name, provider]) => {
          if (provider.simulated) return;
          const found = await discoverModels(provider.connection, (connection, path) =>
            getJson(parts.transport, encodeGet(connection, path), listTimeoutMs),
          );
          lastLook.set(name, found);
          if (found.ok) byPlace.set(placeOf(provider), found.models);
        }),
      );
      const after = JSON.stringify([...byPlace]);
      if (after === before) return unheard(providers).length !== unheardBefore;
      parts.keep(after);
      return true;
    },
  };
}

/** Answers after which no list is to be expected: there is none at that path, or none that can be read. */
const hasNoList: ReadonlySet<string> = new Set(['not-listed', 'model_unavailable', 'malformed']);

/** What is remembered belongs to an address, not to a name that may be given to another one tomorrow. */
function placeOf({ connection }: ConfiguredProvider): string {
  return `${connection.provider.id} ${connection.origin}${connection.basePath}`;
}

function readKept(text: string | null): Map<string, readonly DiscoveredModel[]> {
  const kept = new Map<string, readonly DiscoveredModel[]>();
  if (text === null) return kept;
  try {
    const entries: unknown = JSON.parse(text);
    if (!Array.isArray(entries)) return kept;
    for (const entry of entries) {
      if (!Array.isArray(entry) || typeof entry[0] !== 'string' || !Array.isArray(entry[1])) continue;
      kept.set(
        entry[0],
        entry[1].filter((model: unknown) => isObject(model) && typeof model.id === 'string') as DiscoveredModel[],
      );
    }
  } catch {
    // A half-written cache is no cache; the providers are asked anyway.
  }
  return kept;
}
