import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Counters } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { RedisCounters } from '../../src/stores/redis/counters.ts';
import { openRedisCounters } from '../../src/stores/redis/open-counters.ts';
import { fakeClock } from '../fake-clock.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startRedisCluster } from '../start-redis-cluster.ts';
import { type FakeBooks, fakeBooks } from './counter-books.ts';

/** Counters as the suite sees them, over books of its own. */
export interface CountersUnderTest {
  counters: Counters;
  books: FakeBooks;
  /** Further processes over the same counts; null where the driver serves one process alone. */
  another: (() => Promise<Counters & { sweepAll(): Promise<unknown> }>) | null;
  /** Lets time pass; null where the counters' clock is not ours to move. */
  advance: ((ms: number) => void) | null;
  /** The counters' own clock now, wall-clock ms: where the suite puts use of the past. */
  nowMs(): number;
  remove(): Promise<void>;
}

export interface CounterDriver {
  name: string;
  /** Says what this machine lacks for it; null: nothing. */
  missing(): string | null;
  create(): Promise<CountersUnderTest>;
}

function memory(name: string, answers: 'at once' | 'later'): CounterDriver {
  return {
    name,
    missing: () => null,
    async create() {
      const clock = fakeClock();
      const books = fakeBooks(answers);
      const counters = new MemoryCounters({ clock, books });
      return {
        counters,
        books,
        another: null,
        advance: (ms) => clock.advance(ms),
        nowMs: () => clock.wallMs(),
        remove: () => counters.close(),
      };
    },
  };
}

/** `start`: one for all cases of a process, since each case has accounts of its own. */
const redis = (name: string, start: () => Promise<{ url: string }>): CounterDriver => ({
  name,
  missing: () => redisMissing || null,
  async create() {
    const { url } = await start();
    const clock = fakeClock(Date.now());
    const books = fakeBooks('later');
    const opened: Counters[] = [];
    async function open() {
      const rules = { scopesOf, callMilliIn };
      const options = { url, booksId: 'test', books, rules, clock: systemClock, nowMs: clock.wallMs };
      const parts: RedisCounters[] = [];
      const { counters } = await openRedisCounters({ ...options, onTrouble() {} }, (shared) => {
        parts.push(shared);
        return shared;
      });
      opened.push(counters);
      await Promise.all(parts.map((part) => part.whenReady()));
      return Object.assign(counters, { sweepAll: () => Promise.all(parts.map((part) => part.sweep())) });
    }
    return {
      counters: await open(),
      books,
      another: open,
      advance: (ms) => clock.advance(ms),
      nowMs: () => clock.wallMs(),
      async remove() {
        for (const counters of opened) await counters.close();
      },
    };
  },
});

let server: Promise<{ url: string }> | null = null;
let cluster: Promise<{ url: string }> | null = null;

/** The suite of counters runs over each of these. */
export const counterDrivers: readonly CounterDriver[] = [
  memory('memory', 'at once'),
  memory('memory over books that answer later', 'later'),
  redis('redis', () => (server ??= startRedis(null))),
  redis('redis cluster', () => (cluster ??= startRedisCluster(null))),
];
