import { every } from '../../kernel/every.ts';
import { accountOfScope, bucketsOf } from './counter-scope.ts';
import type { Counters, QuotaBooks } from './counters.ts';

/** Counters that are elsewhere, and can be lost. */
export interface SharedCounters extends Counters {
  /** Nothing answers there. False as soon as something does, though it may not admit yet. */
  lost(): boolean;
  /** Requests were admitted without it: it must begin anew, from the ledger, before it admits again. */
  distrust(): void;
}

/** Interval at which the processes that share the limits are counted while the shared counters are lost. */
const countEveryMs = 1_000;

export interface LocalOnLossOptions {
  shared: SharedCounters;
  /** Counters of this process alone, for its part of every limit: 1 / `share()`. */
  local(share: () => number): Counters;
  /** Processes that share the limits, counted anew: this one included. */
  livingBoots(): Promise<number>;
}

/**
 * `on_state_loss: local`: while the shared counters are lost, this process admits alone, with an equal part of every
 * limit. It counts the processes at that moment: with an older number, a new process would have no part. When the
 * shared counters are back, they start again from the ledger, which has everything that was admitted meanwhile; until
 * that is done no process admits. A request at the moment of the loss is refused.
 */
export function createLocalOnLoss(options: LocalOnLossOptions): Counters {
  const { shared } = options;
  /** One for each loss: its counts are of no use to the next. */
  let loss: LocalCounters | null = null;

  function inForce(): Counters | Promise<Counters> {
    if (shared.lost()) {
      // Before anything is admitted, so that no epoch can begin between the two.
      shared.distrust();
      loss ??= createLocalCounters(options);
      return loss.inForce();
    }
    if (loss !== null) {
      void loss.close();
      loss = null;
    }
    return shared;
  }

  return {
    enter(entry) {
      const counters = inForce();
      return counters instanceof Promise ? counters.then((late) => late.enter(entry)) : counters.enter(entry);
    },
    hold(hold) {
      const counters = inForce();
      return counters instanceof Promise ? counters.then((late) => late.hold(hold)) : counters.hold(hold);
    },
    giveBack(returned) {
      loss?.counters.giveBack(returned);
      shared.giveBack(returned);
    },
    settle(held, spent) {
      loss?.counters.settle(held, spent);
      // Seeded from the ledger, the shared counters hold what was admitted here. They ignore what they do not hold.
      shared.settle(held, spent);
    },
    read: async (account, limits) => (await inForce()).read(account, limits),
    running: async (account, scopes) => (await inForce()).running(account, scopes),
    trouble: () => (shared.lost() ? (loss?.counters.trouble() ?? null) : shared.trouble()),
    async close() {
      await loss?.close();
      await shared.close();
    },
  };
}

type LocalCounters = ReturnType<typeof createLocalCounters>;

/** For one loss. */
function createLocalCounters({ shared, local, livingBoots }: LocalOnLossOptions) {
  let processes: number | null = null;
  /** Under way. */
  let counting: Promise<void> | null = null;
  const count = () => {
    counting ??= livingBoots()
      .then(
        (living) => {
          processes = Math.max(1, living);
        },
        // When the ledger does not answer, nothing is admitted anyway, so the last known number stays.
        () => undefined,
      )
      .finally(() => {
        counting = null;
      });
    return counting;
  };
  const counters = local(() => processes ?? 1);
  const stopCounting = every(countEveryMs, () => void count());
  return {
    counters,
    /** Local counters once the processes are counted; if that fails, the shared ones, which refuse everything. */
    inForce: (): Counters | Promise<Counters> =>
      processes === null ? count().then(() => (processes === null ? shared : counters)) : counters,
    async close(): Promise<void> {
      stopCounting();
      await counters.close();
    },
  };
}

/**
 * A ledger that counts open requests as settled: for counters that start while requests of other counters run, whose
 * end they never see. Amounts that those give back are not seen here.
 */
export function booksWithOpen(
  books: Pick<QuotaBooks, 'seed' | 'recentCalls'>,
): Pick<QuotaBooks, 'buckets' | 'recentCalls'> {
  return {
    async buckets(scopes) {
      const byAccount = Map.groupBy(scopes, accountOfScope);
      const seeds = await Promise.all(
        [...byAccount].map(([account, accountScopes]) => books.seed(account, accountScopes, [])),
      );
      return seeds.flatMap(({ buckets, open }) => [
        ...buckets,
        ...open
          .flatMap((row) =>
            bucketsOf({ ...row, settledMs: row.quotaMs, inputTokens: 0, outputTokens: 0, costUsd: null }),
          )
          .filter(({ scope }) => scopes.includes(scope)),
      ]);
    },
    recentCalls: books.recentCalls,
  };
}
