import type { Failure } from '../kernel/failure.ts';
import { tooManyCollections } from './vector-refusals.ts';

/**
 * Number of collections of accounts over all threads: an account may have several tenants, whose shards lie in
 * different threads. Derived: each thread reports its own when it starts.
 */
export interface CollectionPlaces {
  /** A thread's collections as of now, in place of what was known of it before. */
  set(thread: number, collections: readonly { account: string; collections: number }[]): void;
  /** Null when the account had a place left, which is taken then. */
  take(thread: number, account: string): Failure | null;
  give(thread: number, account: string, collections: number): void;
}

export function createCollectionPlaces(collectionsMax: number): CollectionPlaces {
  const threads = new Map<number, Map<string, number>>();

  function add(thread: number, account: string, collections: number): void {
    const counts = threads.get(thread) ?? new Map<string, number>();
    threads.set(thread, counts);
    const count = (counts.get(account) ?? 0) + collections;
    if (count === 0) counts.delete(account);
    else counts.set(account, count);
  }

  return {
    set(thread, collections) {
      threads.delete(thread);
      for (const one of collections) add(thread, one.account, one.collections);
    },
    take(thread, account) {
      let count = 0;
      for (const counts of threads.values()) count += counts.get(account) ?? 0;
      if (count >= collectionsMax) return tooManyCollections(collectionsMax).failure;
      add(thread, account, 1);
      return null;
    },
    give: (thread, account, collections) => add(thread, account, -collections),
  };
}
