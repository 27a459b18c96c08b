import type { KnownModelStore } from './known-models.ts';
import type { Snapshot } from './snapshot.ts';

const refreshIntervalMs = 3_600_000;
const unheardPauseMinMs = 5_000;
const unheardPauseMaxMs = 300_000;

export interface ModelRefreshParts {
  known: KnownModelStore;
  snapshot(): Snapshot;
  /** The lists have changed: a snapshot with them is wanted. */
  renew(): Promise<void>;
  /** A provider's list was had just now: it answers. */
  onHeard(provider: string): void;
  /** A provider's list could not be had; `unheard` when nothing can be called there until it is. Once per trouble. */
  onTrouble(provider: string, message: string, weight: 'unheard' | 'stale'): void;
  onError(error: unknown): void;
}

export interface ModelRefresh {
  /** Asks every provider now; never rejects. */
  look(): Promise<void>;
  stop(): void;
}

/** Keeps the lists of models fresh: hourly, and soon again, ever less often, those that were never heard. */
export function createModelRefresh(parts: ModelRefreshParts): ModelRefresh {
  const told = new Map<string, string>();
  let stopped = false;
  let unheardTimer: NodeJS.Timeout | undefined;
  let unheardPauseMs = unheardPauseMinMs;
  const hourly = setInterval(() => void look(), refreshIntervalMs);
  hourly.unref();

  async function look(): Promise<void> {
    try {
      const { providers } = parts.snapshot();
      if (await parts.known.refresh(providers)) await parts.renew();
      for (const name of providers.keys()) if (parts.known.lastLook.get(name)?.ok === true) parts.onHeard(name);
      tellTroubles();
    } catch (error) {
      parts.onError(error);
    }
    askUnheardLater();
  }

  function tellTroubles(): void {
    const { providers, models } = parts.snapshot();
    for (const name of providers.keys()) {
      const last = parts.known.lastLook.get(name);
      const trouble = last === undefined || last.ok || last.reason === 'not-listed' ? '' : last.message;
      if (trouble === (told.get(name) ?? '')) continue;
      told.set(name, trouble);
      if (trouble !== '') parts.onTrouble(name, trouble, models.unheard.includes(name) ? 'unheard' : 'stale');
    }
  }

  function askUnheardLater(): void {
    clearTimeout(unheardTimer);
    if (stopped || parts.snapshot().models.unheard.length === 0) {
      unheardPauseMs = unheardPauseMinMs;
      return;
    }
    unheardTimer = setTimeout(() => void look(), unheardPauseMs);
    unheardPauseMs = Math.min(unheardPauseMs * 2, unheardPauseMaxMs);
  }

  return {
    look,
    stop() {
      stopped = true;
      clearTimeout(unheardTimer);
      clearInterval(hourly);
    },
  };
}
