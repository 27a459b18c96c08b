import { type SlotSet, wordsFor } from './slot-set.ts';

/** Lists in the form in which a file stores them. */
export interface SavedLists {
  entries: Int32Array;
  pool: Int32Array;
  poolEnd: number;
  unused: number;
}

/** Unused numbers that are not worth a look at all slots. */
const unusedMin = 4_096;

/** For each slot none, one or several different codes (positive integers below 2^31). `saved` is copied. */
export function createCodeLists(saved?: SavedLists) {
  /** A code, 0 for none, or below 0 the place of several in the pool: −1 is its beginning. */
  let entries = saved?.entries.slice() ?? new Int32Array(64);
  /** Lists one after another: how many codes, then these. */
  let pool = saved?.pool.slice() ?? new Int32Array(0);
  let poolEnd = saved?.poolEnd ?? 0;
  /** Numbers of the pool that no slot has any more. */
  let unused = saved?.unused ?? 0;

  function add(codes: Iterable<number>, length: number): number {
    const at = poolEnd;
    poolEnd += length + 1;
    if (poolEnd > pool.length) {
      const larger = new Int32Array(Math.max(poolEnd, Math.ceil(pool.length * 1.5)));
      larger.set(pool);
      pool = larger;
    }
    pool[at] = length;
    let next = at;
    for (const code of codes) pool[++next] = code;
    return -at - 1;
  }

  /** Lists are only added at the end: now and then those that are left move together. */
  function closeGaps(): void {
    const before = pool;
    pool = new Int32Array(poolEnd - unused);
    poolEnd = 0;
    unused = 0;
    for (let slot = 0; slot < entries.length; slot++) {
      const entry = entries[slot]!;
      if (entry >= 0) continue;
      const at = -entry - 1;
      const length = before[at]!;
      entries[slot] = add(before.subarray(at + 1, at + 1 + length), length);
    }
  }

  function highest(entry: number, hits: Uint8Array): number {
    const at = -entry - 1;
    const end = at + pool[at]!;
    let level = 0;
    for (let i = at + 1; i <= end; i++) level = Math.max(level, hits[pool[i]!]!);
    return level;
  }

  return {
    get bytes(): number {
      return entries.byteLength + pool.byteLength;
    },
    /** Replaces what stood there. */
    set(slot: number, codes: readonly number[]): void {
      if (slot >= entries.length) {
        if (codes.length === 0) return;
        const larger = new Int32Array(Math.max(slot + 1, entries.length * 2));
        larger.set(entries);
        entries = larger;
      }
      const before = entries[slot]!;
      if (before < 0) unused += pool[-before - 1]! + 1;
      entries[slot] = codes.length > 1 ? add(codes, codes.length) : (codes[0] ?? 0);
      if (unused > unusedMin && unused * 2 > poolEnd) closeGaps();
    },
    /** Visits the codes of a slot, none for a slot that has none. */
    each(slot: number, visit: (code: number) => void): void {
      const entry = entries[slot] ?? 0;
      if (entry > 0) visit(entry);
      if (entry >= 0) return;
      const at = -entry - 1;
      const end = at + pool[at]!;
      for (let i = at + 1; i <= end; i++) visit(pool[i]!);
    },
    /** Slots with a code of at least this level, 1 or 2, in `hits` (by code; `hits[0]` must be 0). */
    select(hits: Uint8Array, level: number, slotEnd: number): SlotSet {
      const set = new Uint32Array(wordsFor(slotEnd));
      // Levels are 1 and 2: half of a level and this, rounded down, is 1 for a hit. A branch would be guessed wrong too often.
      const over = 2 - level;
      const end = Math.min(slotEnd, entries.length);
      for (let word = 0, base = 0; base < end; word++, base += 32) {
        const last = Math.min(base + 32, end);
        let bits = 0;
        for (let slot = base; slot < last; slot++) {
          const entry = entries[slot]!;
          const most = entry >= 0 ? hits[entry]! : highest(entry, hits);
          bits |= ((most + over) >> 1) << (slot & 31);
        }
        set[word] = bits;
      }
      return set;
    },
    /** Views, good until the next change. */
    save: (): SavedLists => ({ entries, pool, poolEnd, unused }),
  };
}
