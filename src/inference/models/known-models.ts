import { type Discovery, discoverModels, modelsPath } from '../../formats/providers/discover.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import { backoffMs } from '../../kernel/backoff.ts';
import { every } from '../../kernel/every.ts';
import { type JsonObject, listIn, objectsIn, parsedJson } from '../../kernel/json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { KnownModels } from './alias.ts';
import { askForModels } from './ask-for-models.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { Snapshots } from './snapshot.ts';

const listTimeoutMs = 10_000;

/** Lists of models from providers: remembered over restarts, so that a start waits for nobody. */
export type KnownModelStore = ReturnType<typeof createKnownModels>;

export interface KnownModelParts {
  transport: Transport;
  /** The remembered text, or null; and where to keep the next. */
  recall(): string | null;
  keep(text: string): void;
}

/** Starts from the stored lists; an unreadable one is forgotten. */
export function createKnownModels(parts: KnownModelParts) {
  const byPlace = readSaved(parts.recall());
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
    /** How the last look at each ended, by provider name. */
    lastLook,
    /** Providers among them whose list nobody has read yet: the next look may bring it. Not those that have no list. */
    unheard,
    /** The models of these providers, as last heard. */
    of: (providers: ReadonlyMap<string, ConfiguredProvider>): KnownModels =>
      new Map([...providers].map(([name, provider]) => [name, byPlace.get(placeOf(provider)) ?? []])),
    /** Sets models that are known without asking, such as the simulator's. */
    put(provider: ConfiguredProvider, models: readonly DiscoveredModel[]): void {
      byPlace.set(placeOf(provider), models);
    },
    /**
     * Asks all of them at once; true when anything changed, `unheard`, too. Those that do not answer keep their earlier
     * list.
     */
    async refresh(providers: ReadonlyMap<string, ConfiguredProvider>): Promise<boolean> {
      let anyChanged = false;
      const unheardBefore = unheard(providers).length;
      await Promise.all(
        [...providers].map(async ([name, provider]) => {
          if (provider.simulated) return;
          const found = await discoverModels(provider.connection, (connection, path) =>
            askForModels(parts.transport, connection, path, listTimeoutMs),
          );
          lastLook.set(name, found);
          if (!found.ok) return;
          const place = placeOf(provider);
          // One list at a time: of 2,000 providers all of them are 100 MB of JSON.
          anyChanged ||= JSON.stringify(byPlace.get(place)) !== JSON.stringify(found.models);
          byPlace.set(place, found.models);
        }),
      );
      if (!anyChanged) return unheard(providers).length !== unheardBefore;
      parts.keep(JSON.stringify([...byPlace]));
      return true;
    },
  };
}

/** Answers after which no list is to be expected: there is none at that path, or none that can be read. */
const hasNoList: ReadonlySet<string> = new Set(['not-listed', 'model_unavailable', 'malformed']);

/** A list belongs to an address, not to a name that another provider may get tomorrow. */
function placeOf({ connection }: ConfiguredProvider): string {
  return `${connection.provider.id} ${connection.origin}${connection.basePath}`;
}

function readSaved(text: string | null): Map<string, readonly DiscoveredModel[]> {
  const saved = new Map<string, readonly DiscoveredModel[]>();
  // A half-written list is ignored; the providers are asked anyway.
  for (const entry of listIn(parsedJson(text ?? ''))) {
    const [place, models] = listIn(entry);
    if (typeof place !== 'string' || !Array.isArray(models)) continue;
    saved.set(place, objectsIn(models).filter(isSaved));
  }
  return saved;
}

const isSaved = (model: JsonObject): model is JsonObject & DiscoveredModel => typeof model.id === 'string';

const refreshIntervalMs = 3_600_000;
const unheardPauses = { firstMs: 5_000, maxMs: 300_000 };

export interface ModelRefreshParts {
  known: KnownModelStore;
  readonly snapshots: Snapshots;
  /** The lists have changed: a snapshot with them is wanted. */
  renew(): Promise<void>;
  /** The lists of these providers were had just now: they answer. */
  onListed(providers: ReadonlySet<string>): void;
  /** A provider's list could not be had; `unheard` when nothing can be called there until it is. Once per trouble. */
  onTrouble(provider: string, message: string, weight: 'unheard' | 'stale'): void;
  onError(error: unknown): void;
}

/** Keeps the lists of models fresh: hourly, and soon again, ever less often, those that were never heard. */
export function createModelRefresh(parts: ModelRefreshParts) {
  const reported = new Map<string, string>();
  let stopped = false;
  let unheardTimer: NodeJS.Timeout | undefined;
  let unheardLooks = 0;
  const stopHourly = every(refreshIntervalMs, () => void look());

  async function look(): Promise<void> {
    try {
      const { providers } = parts.snapshots.current;
      if (await parts.known.refresh(providers)) await parts.renew();
      parts.onListed(new Set([...providers.keys()].filter((name) => parts.known.lastLook.get(name)?.ok === true)));
      reportTroubles();
    } catch (error) {
      parts.onError(error);
    }
    askUnheardLater();
  }

  function reportTroubles(): void {
    const { providers, models } = parts.snapshots.current;
    for (const name of providers.keys()) {
      const last = parts.known.lastLook.get(name);
      const trouble = last === undefined || last.ok || last.reason === 'not-listed' ? '' : last.message;
      if (trouble === (reported.get(name) ?? '')) continue;
      reported.set(name, trouble);
      if (trouble !== '') parts.onTrouble(name, trouble, models.unheard.includes(name) ? 'unheard' : 'stale');
    }
  }

  function askUnheardLater(): void {
    clearTimeout(unheardTimer);
    if (stopped || parts.snapshots.current.models.unheard.length === 0) {
      unheardLooks = 0;
      return;
    }
    unheardTimer = setTimeout(() => void look(), backoffMs(++unheardLooks, unheardPauses));
  }

  return {
    /** Asks every provider now; never rejects. */
    look,
    stop(): void {
      stopped = true;
      clearTimeout(unheardTimer);
      stopHourly();
    },
  };
}
