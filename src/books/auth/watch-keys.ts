import { setTimeout as pause } from 'node:timers/promises';
import type { AccountStore, Stored } from './account-store.ts';

/** Changes by the CLI or another server take effect within a second (design §17), this look included. */
export const keyPollIntervalMs = 750;

/** Between two looks for keys that are not known, so that wrong keys cost the store little. */
const unknownPauseMs = 250;
/** How long such a caller waits at most. The store of another machine may not answer at all. */
const unknownWaitMs = 1_000;
/** Callers that wait for one such look. Others are refused at once. */
const unknownWaitingMax = 100;

/**
 * Calls `take` with the store's contents whenever they have changed, for the key ring and the plan book. While the
 * store cannot be read, it calls nothing, so both stay as they were: refusing everybody would turn a passing fault of
 * the store into an outage. `onError` is called for the first failed look in a row.
 */
export function watchKeys(store: AccountStore, take: (stored: Stored) => void, onError: (error: unknown) => void) {
  let seen = -1;
  let trouble: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  let lastLook: Promise<unknown> = Promise.resolve();
  const lookForUnknown = sharedLook(() => poll().catch(() => false));

  /** One look at a time. Of two, the one that read first could call last, and bring back a revoked key. */
  function poll(): Promise<boolean> {
    const next = lastLook.then(look, look);
    lastLook = next;
    return next;
  }

  async function look(): Promise<boolean> {
    const version = await store.version();
    if (version === seen) return false;
    take(await store.load());
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
    /**
     * Looks once, after looks that are under way; true when something had changed. Rejects when the store cannot be
     * read. Called after a change of one's own, so that it counts here at once.
     */
    poll,
    /**
     * Looks for a key that is not known, which another process may have made just now: for a second at most, one look for all
     * who wait. Looks at nothing where the store could not be read or too many wait. Never rejects.
     */
    async pollForUnknown(): Promise<void> {
      if (trouble === null && !stopped) await lookForUnknown();
    },
    /** Why the store could not be read at the last look, in words; null when it could. */
    trouble: (): string | null => trouble,
    stop(): void {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** One look for all who wait for one, at most four times a second, and each behind the end of the one before. */
function sharedLook(look: () => Promise<unknown>): () => Promise<void> {
  let next: Promise<void> | null = null;
  let waiting = 0;
  let beganMs = Number.NEGATIVE_INFINITY;
  let last: Promise<unknown> = Promise.resolve();

  async function inTurn(): Promise<void> {
    await Promise.all([last, pause(Math.max(0, beganMs + unknownPauseMs - performance.now()))]);
    [next, waiting, beganMs] = [null, 0, performance.now()];
    last = look();
    await last;
  }

  return async () => {
    if (waiting >= unknownWaitingMax) return;
    waiting += 1;
    next ??= inTurn();
    await Promise.race([next, pause(unknownWaitMs)]);
  };
}
