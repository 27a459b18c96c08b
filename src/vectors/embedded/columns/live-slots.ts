import { addSlot, removeSlot, type SlotSet, wordsFor } from './slot-set.ts';

/** The slots that have a row; it grows with them. */
export type LiveSlots = ReturnType<typeof createLiveSlots>;

/** `saved`: a set, which is copied, and its `end`. */
export function createLiveSlots(saved?: { set: SlotSet; end: number }) {
  let words = saved?.set.slice() ?? new Uint32Array(0);
  let end = saved?.end ?? 0;
  return {
    /** Has the length that `end` needs; good until the next `add`. */
    get set(): SlotSet {
      return words.subarray(0, wordsFor(end));
    },
    /** Above the highest slot that was ever added. */
    get end(): number {
      return end;
    },
    get bytes(): number {
      return words.byteLength;
    },
    add(slot: number): void {
      end = Math.max(end, slot + 1);
      if (wordsFor(end) > words.length) {
        const larger = new Uint32Array(Math.max(wordsFor(end), words.length * 2));
        larger.set(words);
        words = larger;
      }
      addSlot(words, slot);
    },
    remove(slot: number): void {
      if (slot < end) removeSlot(words, slot);
    },
  };
}
