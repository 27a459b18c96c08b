import type { KeptBytes } from './worker-messages.ts';

/** Bytes that accounts keep over all threads. Derived: each thread says what it has when it starts. */
export interface ThreadTotals {
  /** What a thread has, as of now; what was known of it before is forgotten. */
  set(thread: number, kept: readonly KeptBytes[]): void;
  add(thread: number, kept: KeptBytes): void;
  of(account: string): number;
}

export function createThreadTotals(): ThreadTotals {
  const threads = new Map<number, Map<string, number>>();

  function add(thread: number, { account, bytes }: KeptBytes): void {
    const totals = threads.get(thread) ?? new Map<string, number>();
    threads.set(thread, totals);
    const total = (totals.get(account) ?? 0) + bytes;
    if (total === 0) totals.delete(account);
    else totals.set(account, total);
  }

  return {
    set(thread, kept) {
      threads.delete(thread);
      for (const one of kept) add(thread, one);
    },
    add,
    of(account) {
      let total = 0;
      for (const totals of threads.values()) total += totals.get(account) ?? 0;
      return Math.max(0, total);
    },
  };
}
