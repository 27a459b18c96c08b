import { fakeClock } from '../../src/kernel/clock.ts';
import type { Counters } from '../../src/metering/counters.ts';
import { createMemoryCounters } from '../../src/metering/memory-counters.ts';
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
  /** What this machine lacks for it, in words; null: nothing. */
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
      const counters = createMemoryCounters({ clock, books });
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

/** The suite of counters runs over each of these. */
export const counterDrivers: readonly CounterDriver[] = [
  memory('memory', 'at once'),
  memory('memory over books that answer later', 'later'),
];
