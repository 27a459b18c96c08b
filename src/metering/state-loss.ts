import type { Counters } from './counters.ts';
import type { Ledger } from './ledger.ts';

/** Counters that are elsewhere, and can be lost. */
export interface SharedCounters extends Counters {
  /** Nothing answers there. False as soon as something does, though it may not admit yet. */
  lost(): boolean;
  /** Requests were admitted without it: it must begin anew, from the ledger, before it admits again. */
  distrust(): void;
}

/**
 * `on_state_loss: local`: while the shared counters are lost, this process admits by itself, each process a part of
 * every limit (`share` of the memory counters that `local` makes). When they are back they begin anew from the ledger,
 * where everything admitted meanwhile stands; until that is done nobody admits. A request that is asking at the very
 * moment of the loss is refused.
 */
export function createLocalOnLoss(options: { shared: SharedCounters; local: () => Counters }): Counters {
  const { shared } = options;
  /** One for each loss: what it counted is of no use to the next. */
  let local: Counters | null = null;

  function inForce(): Counters {
    if (shared.lost()) {
      // Before anything is admitted, so that no epoch can begin between the two.
      shared.distrust();
      local ??= options.local();
      return local;
    }
    if (local !== null) {
      void local.close();
      local = null;
    }
    return shared;
  }

  return {
    enter: (entry) => inForce().enter(entry),
    hold: (hold) => inForce().hold(hold),
    settle(held, spent) {
      local?.settle(held, spent);
      // Seeded from the ledger, the shared counters hold what was admitted here; what they do not hold they ignore.
      shared.settle(held, spent);
    },
    read: (account, limits) => inForce().read(account, limits),
    running: (account, scopes) => inForce().running(account, scopes),
    trouble: () => (shared.lost() ? (local?.trouble() ?? null) : shared.trouble()),
    async close() {
      await local?.close();
      await shared.close();
    },
  };
}

/** How often the processes that share the books are counted. */
const countEveryMs = 5_000;

/** How many processes share the limits, as last known: the books may be out of reach when it is asked. */
export function watchReplicas(ledger: Pick<Ledger, 'livingBoots'>): { count(): number; close(): void } {
  let count = 1;
  const look = () =>
    ledger.livingBoots().then(
      (living) => {
        count = Math.max(1, living);
      },
      // The last known number stands.
      () => undefined,
    );
  void look();
  const timer = setInterval(() => void look(), countEveryMs);
  timer.unref();
  return { count: () => count, close: () => clearInterval(timer) };
}
