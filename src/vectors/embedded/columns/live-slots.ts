import { addSlot, removeSlot, type SlotSet, wordsFor } from './slot-set.ts';

/** The slots that have a row; it grows with them. */
export interface LiveSlots {
  /** Has the length that `end` needs; good until the next `add`. */
  readonly set: SlotSet;
  /** Above the highest slot that was ever added. */
  readonly end: number;
  readonly bytes: number;
  add(slot: number): void;
  remove(slot: number): void;
}

/** `saved`: a set, which is copied, and its `end`. */
export function createLiveSlots(saved?: Pick<LiveSlots, 'set' | 'end'>): LiveSlots {
  let words = saved?.set.slice() ?? new Uint32Array(0);
  let end = saved?.end ?? 0;
  return {
    get set() {
      return words.subarray(0, wordsFor(end));
    },
    get end() {
      return end;
    },
    get bytes() {
      return words.byteLength;
    },
    add(slot) {
      end = Math.max(end, slot + 1);
      if (wordsFor(end) > words.length) {
        const larger = new Uint32Array(Math.max(wordsFor(end), words.length * 2));
        larger.set(words);
        words = larger;
      }
      addSlot(words, slot);
    },
    remove(slot) {
      if (slot < end) removeSlot(words, slot);
    },
  };
}
