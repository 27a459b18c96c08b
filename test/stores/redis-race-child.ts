import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { QuotaBooks } from '../../src/books/metering/counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { limitOf, newAsker } from './counter-requests.ts';

/**
 * One replica of the race: for each round of the parent, this many callers at one time hold units of one account, and
 * it reports how many passed and how many were refused for another reason than the limit. The ledger knows of 900
 * units.
 */
const [, , url, name] = process.argv as unknown as [string, string, string, string];

const books: QuotaBooks = {
  buckets: () => [],
  recentCalls: () => [],
  seed: async (_, scopes) => {
    const bucket = Math.floor(Date.now() / 3_600_000);
    const units = 900_000;
    return {
      buckets: scopes.map((scope) => ({ scope, grainMs: 3_600_000, bucket, units, tokens: 0, usdNano: 0 })),
      open: [],
      settled: new Map(),
    };
  },
};

const counters = new RedisCounters({
  url,
  booksId: 'test',
  books,
  rules: { scopesOf, callMilliIn },
  clock: systemClock,
  onTrouble: () => {},
});
await counters.whenReady();
process.send?.('ready');

process.on('message', async (round: { account: string; callers: number; costMilli: number; allowed: number }) => {
  const who = newAsker({ account: round.account });
  const limits = (['week', 'month'] as const).map((span) => limitOf(who, 'units', span, round.allowed));
  const answers = await Promise.all(
    Array.from({ length: round.callers }, (_, i) =>
      counters.hold({
        requestId: `${round.account}-${name}-${i}`,
        account: who.account,
        scopes: who.scopes,
        costMilli: round.costMilli,
        limits,
      }),
    ),
  );
  process.send?.({
    held: answers.filter(({ kind }) => kind === 'held').length,
    unavailable: answers.filter(({ kind }) => kind === 'unavailable').length,
  });
});
