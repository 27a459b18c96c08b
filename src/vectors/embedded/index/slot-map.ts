/** The row of an index for each slot. 4 bytes a slot, outside the arena. */
export interface SlotMap {
  /** −1: none. */
  row(slot: number): number;
  /** The rows of those slots that have one, in the order of these. */
  rows(slots: Uint32Array): Uint32Array;
  set(slot: number, row: number): void;
  delete(slot: number): void;
}

export function createSlotMap(): SlotMap {
  /** Row + 1; 0 is none. Slots are dense, so an array is the smallest map. */
  let rows = new Uint32Array(256);
  return {
    row: (slot) => (slot < rows.length ? rows[slot]! - 1 : -1),
    rows(slots) {
      const held = new Uint32Array(slots.length);
      let count = 0;
      for (let i = 0; i < slots.length; i += 1) {
        const row = rows[slots[i]!] ?? 0;
        held[count] = row - 1;
        if (row !== 0) count += 1;
      }
      return held.subarray(0, count);
    },
    set(slot, row) {
      if (slot >= rows.length) {
        const larger = new Uint32Array(Math.max(slot + 1, rows.length * 2));
        larger.set(rows);
        rows = larger;
      }
      rows[slot] = row + 1;
    },
    delete(slot) {
      if (slot < rows.length) rows[slot] = 0;
    },
  };
}
