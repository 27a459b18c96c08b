import { type SlotSet, wordsFor } from './slot-set.ts';

/** About what a list of several codes takes beside them. */
const listBytes = 120;

/** As they are kept in a file. */
export interface SavedLists {
  entries: Int32Array;
  lists: readonly (readonly number[])[];
  free: readonly number[];
}

/** For each slot none, one or several different codes (positive integers below 2^31). */
export interface CodeLists {
  readonly bytes: number;
  /** Replaces what stood there. The array is kept. */
  set(slot: number, codes: readonly number[]): void;
  /** Visits the codes of a slot, none for a slot that has none. */
  each(slot: number, visit: (code: number) => void): void;
  /** Slots with a code of at least this level, 1 or 2, in `hits` (by code; `hits[0]` must be 0). */
  select(hits: Uint8Array, level: number, slotEnd: number): SlotSet;
  /** Views, good until the next change. */
  save(): SavedLists;
}

/** `saved` is copied. */
export function createCodeLists(saved?: SavedLists): CodeLists {
  /** A code, 0 for none, or below 0 the place of a list: -1 the first. */
  let entries = saved?.entries.slice() ?? new Int32Array(64);
  const lists = [...(saved?.lists ?? [])];
  const free = [...(saved?.free ?? [])];
  let listedBytes = 0;
  for (const list of lists) if (list.length > 0) listedBytes += listBytes + 4 * list.length;

  function drop(entry: number): void {
    const at = -entry - 1;
    listedBytes -= listBytes + 4 * lists[at]!.length;
    lists[at] = [];
    free.push(at);
  }

  function keep(codes: readonly number[]): number {
    const at = free.pop() ?? lists.length;
    lists[at] = codes;
    listedBytes += listBytes + 4 * codes.length;
    return -at - 1;
  }

  return {
    get bytes() {
      return entries.byteLength + listedBytes;
    },
    set(slot, codes) {
      if (slot >= entries.length) {
        if (codes.length === 0) return;
        const larger = new Int32Array(Math.max(slot + 1, entries.length * 2));
        larger.set(entries);
        entries = larger;
      }
      const before = entries[slot]!;
      if (before < 0) drop(before);
      entries[slot] = codes.length > 1 ? keep(codes) : (codes[0] ?? 0);
    },
    each(slot, visit) {
      const entry = entries[slot] ?? 0;
      if (entry < 0) for (const code of lists[-entry - 1]!) visit(code);
      else if (entry > 0) visit(entry);
    },
    select(hits, level, slotEnd) {
      const set = new Uint32Array(wordsFor(slotEnd));
      // Levels are 1 and 2: half of a level and this, rounded down, is 1 for a hit. A branch would be guessed wrong too often.
      const over = 2 - level;
      const end = Math.min(slotEnd, entries.length);
      for (let word = 0, base = 0; base < end; word++, base += 32) {
        const last = Math.min(base + 32, end);
        let bits = 0;
        for (let slot = base; slot < last; slot++) {
          const entry = entries[slot]!;
          const most = entry >= 0 ? hits[entry]! : highest(lists[-entry - 1]!, hits);
          bits |= ((most + over) >> 1) << (slot & 31);
        }
        set[word] = bits;
      }
      return set;
    },
    save: () => ({ entries, lists, free }),
  };
}

function highest(codes: readonly number[], hits: Uint8Array): number {
  let level = 0;
  for (const code of codes) level = Math.max(level, hits[code]!);
  return level;
}
