import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Counters } from '../../src/books/metering/counters.ts';
import { MemoryCounters } from '../../src/books/metering/memory-counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { RedisCounters } from '../../src/stores/redis/counters.ts';
import { fakeClock } from '../fake-clock.ts';
import { redisMissing, type StartedRedis, startRedis } from '../start-redis.ts';
import { type FakeBooks, fakeBooks } from './counter-books.ts';

/** Counters as the suite sees them, over books of its own. */
export interface CountersUnderTest {
  counters: Counters;
  books: FakeBooks;
  /** Further processes over the same counts; null where the driver serves one process alone. */
  another: (() => Promise<Counters>) | null;
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

/** One for all cases of a process: each case has accounts of its own. */
let server: Promise<StartedRedis> | null = null;

const redis: CounterDriver = {
  name: 'redis',
  missing: () => redisMissing || null,
  async create() {
    server ??= startRedis(null);
    const { url } = await server;
    const clock = fakeClock(Date.now());
    const books = fakeBooks('later');
    const opened: Counters[] = [];
    async function open(): Promise<Counters> {
      const counters = new RedisCounters({
        url,
        booksId: 'test',
        books,
        rules: { scopesOf, callMilliIn },
        clock: systemClock,
        nowMs: clock.wallMs,
        onTrouble: () => {},
      });
      opened.push(counters);
      await counters.whenReady();
      return counters;
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
};

/** The suite of counters runs over each of these. */
export const counterDrivers: readonly CounterDriver[] = [
  memory('memory', 'at once'),
  memory('memory over books that answer later', 'later'),
  redis,
];
