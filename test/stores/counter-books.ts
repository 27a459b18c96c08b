import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { BucketRow, QuotaBooks, QuotaSeed, RecentCall, Scope } from '../../src/books/metering/counters.ts';
import type { ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';

/** Parts of the event of a finished request that move quota. */
export type Booked = Pick<
  UsageEvent,
  'account' | 'tenant' | 'tier' | 'quotaMs' | 'settledMs' | 'costMilli' | 'inputTokens' | 'outputTokens' | 'costUsd'
> &
  Partial<Pick<UsageEvent, 'furtherScopes'>>;

/** A ledger as counters see it, in memory: settled and open requests, and it can be out of order. */
export interface FakeBooks extends QuotaBooks {
  open(row: ReservationRow): void;
  /** Closes the reservation, when there is one, and moves the buckets. */
  settle(requestId: string, event: Booked): void;
  /** While true, nothing can be read. */
  broken: boolean;
  /** How often `buckets` was asked. */
  reads: number;
  openReservations(): readonly ReservationRow[];
}

/** `answers`: whether reads come at once, as from a file, or later, as over a network. */
export function fakeBooks(answers: 'at once' | 'later'): FakeBooks {
  const buckets = new Map<string, BucketRow>();
  const open = new Map<string, ReservationRow>();
  const settled = new Map<string, number>();
  const calls: (RecentCall & { account: string })[] = [];

  const answer = <T>(value: T): T | Promise<T> => (answers === 'at once' ? value : Promise.resolve(value));

  function bucketsFor(scopes: readonly Scope[]): BucketRow[] {
    return [...buckets.values()].filter((row) => scopes.includes(row.scope)).map((row) => ({ ...row }));
  }

  const books: FakeBooks = {
    broken: false,
    reads: 0,
    open(row) {
      open.set(row.requestId, row);
      const { atMs, account, tenant, tier, endpoint } = row;
      calls.push({ atMs, account, tenant, tier, endpoint });
    },
    settle(requestId, event) {
      open.delete(requestId);
      settled.set(requestId, event.costMilli);
      for (const row of bucketsOf(event)) {
        const key = `${row.scope} ${row.grainMs} ${row.bucket}`;
        const known = buckets.get(key);
        if (known === undefined) buckets.set(key, { ...row });
        else {
          known.units += row.units;
          known.tokens += row.tokens;
          known.usdNano += row.usdNano;
        }
      }
    },
    openReservations: () => [...open.values()],
    buckets(scopes) {
      books.reads++;
      if (books.broken) throw new Error('the fake ledger is broken');
      return answer(bucketsFor(scopes));
    },
    recentCalls(account, sinceMs) {
      if (books.broken) throw new Error('the fake ledger is broken');
      return answer(calls.filter((call) => call.account === account && call.atMs >= sinceMs));
    },
    async seed(account, scopes, openIds): Promise<QuotaSeed> {
      if (books.broken) throw new Error('the fake ledger is broken');
      return {
        buckets: bucketsFor(scopes),
        open: [...open.values()].filter((row) => row.account === account),
        settled: new Map(openIds.flatMap((id) => (settled.has(id) ? [[id, settled.get(id)!] as const] : []))),
      };
    },
  };
  return books;
}

/** A settled request of `account` and its key `tenant`. */
export function booked(
  account: string,
  atMs: number,
  spent: { costMilli: number; tokens?: number; usd?: number; tenant?: string; tier?: string | null },
): Booked {
  return {
    account,
    tenant: spent.tenant ?? `${account}/key`,
    tier: spent.tier ?? null,
    quotaMs: atMs,
    settledMs: atMs,
    costMilli: spent.costMilli,
    inputTokens: spent.tokens ?? 0,
    outputTokens: 0,
    costUsd: spent.usd ?? null,
  };
}
