import type { TestContext } from 'node:test';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Counters, Full, Held, Unavailable } from '../../src/books/metering/counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { booked, type FakeBooks } from '../stores/counter-books.ts';
import { type Asker, limitOf, newRequestId } from '../stores/counter-requests.ts';

export interface Replica {
  counters: RedisCounters;
  /** Messages to its operator. */
  troubles: string[];
}

/** One gateway process' counters over a server and the ledger that all of them share. */
export function replica(
  t: TestContext,
  url: string,
  books: FakeBooks,
  { booksId = 'test', ...options }: { nowMs?: () => number; booksId?: string } = {},
): Replica {
  const troubles: string[] = [];
  const counters = new RedisCounters({
    url,
    booksId,
    books,
    rules: { scopesOf, callMilliIn },
    clock: systemClock,
    onTrouble: (message) => troubles.push(message),
    ...options,
  });
  t.after(() => counters.close());
  return { counters, troubles };
}

/** A request as admission makes it: units held, then its reservation in the ledger. `unit`s of 1,000 against `allowed`. */
export async function reserve(
  counters: Pick<Counters, 'hold'>,
  books: FakeBooks,
  who: Asker,
  allowed: number,
  costMilli = 1_000,
): Promise<Held | Full | Unavailable> {
  const answer = await counters.hold({
    requestId: newRequestId(),
    account: who.account,
    scopes: who.scopes,
    costMilli,
    limits: [limitOf(who, 'units', '5h', allowed), limitOf(who, 'units', 'month', allowed)],
  });
  if (answer.kind === 'held') openInBooks(books, who, answer);
  return answer;
}

export function openInBooks(books: FakeBooks, who: Asker, held: Held): void {
  books.open({
    requestId: held.requestId,
    bootId: 'boot_1',
    atMs: held.quotaMs,
    account: who.account,
    keyId: 'key_1',
    tenant: who.tenant,
    endpoint: 'chat',
    alias: 'smart',
    tier: who.tier,
    quotaMs: held.quotaMs,
    costMilli: held.costMilli,
    furtherScopes: null,
    inputTokensEstimate: 0,
  });
}

/** The event of a request, in the ledger. */
export function closeInBooks(
  books: FakeBooks,
  who: Asker,
  held: Held,
  spent: { costMilli: number; tokens?: number },
): void {
  books.settle(held.requestId, booked(who.account, held.quotaMs, { ...spent, tenant: who.tenant, tier: who.tier }));
}

/** How many of this many parallel requests pass. */
export async function passing(
  replicas: readonly Pick<Counters, 'hold'>[],
  books: FakeBooks,
  who: Asker,
  allowed: number,
  callers: number,
): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, i) => reserve(replicas[i % replicas.length]!, books, who, allowed)),
  );
  return answers.filter(({ kind }) => kind === 'held').length;
}
