import type { KeyRing } from './key-ring.ts';
import type { KeyStore } from './key-store.ts';

/** Within this time every server sees what the CLI or another server wrote (design §17). */
export const keyPollIntervalMs = 1_000;

export interface KeyWatch {
  /** Looks once; true when the ring was reloaded. Rejects when the store cannot be read. */
  poll(): Promise<boolean>;
  /** Why the store could not be read at the last look, in words; null when it could. */
  trouble(): string | null;
  stop(): void;
}

/**
 * Keeps the ring as the store is. While the store cannot be read the ring stays as it was: refusing everybody would
 * turn a passing fault of the store into an outage. `onError` hears of the first failed look of a row.
 */
export function watchKeys(ring: KeyRing, store: KeyStore, onError: (error: unknown) => void): KeyWatch {
  let seen = -1;
  let trouble: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;

  async function poll(): Promise<boolean> {
    const version = await store.version();
    if (version === seen) return false;
    ring.restock(await store.load());
    // The version read first: a change between the two reads is loaded again, never missed.
    seen = version;
    return true;
  }

  function schedule(): void {
    if (stopped) return;
    timer = setTimeout(tick, keyPollIntervalMs);
    timer.unref();
  }

  async function tick(): Promise<void> {
    try {
      await poll();
      trouble = null;
    } catch (error) {
      if (trouble === null) onError(error);
      trouble = `keys could not be read: ${String(error)}`;
    }
    schedule();
  }

  schedule();
  return {
    poll,
    trouble: () => trouble,
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
