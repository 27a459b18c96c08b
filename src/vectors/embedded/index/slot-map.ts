/** The row of an index for each slot. 4 bytes a slot, outside the arena. */
export function createSlotMap() {
  /** Row + 1; 0 is none. Slots are dense, so an array is the smallest map. */
  let rows = new Uint32Array(256);
  /** Rows by the array that was asked for; null: none since the last change. */
  let remembered: WeakMap<Uint32Array, Uint32Array> | null = null;
  return {
    /** −1: none. */
    row: (slot: number): number => (slot < rows.length ? rows[slot]! - 1 : -1),
    /** The rows of those slots that have one, in the order of these. Remembered with the array: nobody may write to either. */
    rows(slots: Uint32Array): Uint32Array {
      const known = remembered?.get(slots);
      if (known !== undefined) return known;
      const held = new Uint32Array(slots.length);
      let count = 0;
      for (let i = 0; i < slots.length; i += 1) {
        const row = rows[slots[i]!] ?? 0;
        held[count] = row - 1;
        if (row !== 0) count += 1;
      }
      const found = held.subarray(0, count);
      remembered ??= new WeakMap();
      remembered.set(slots, found);
      return found;
    },
    set(slot: number, row: number): void {
      remembered = null;
      if (slot >= rows.length) {
        const larger = new Uint32Array(Math.max(slot + 1, rows.length * 2));
        larger.set(rows);
        rows = larger;
      }
      rows[slot] = row + 1;
    },
    delete(slot: number): void {
      remembered = null;
      if (slot < rows.length) rows[slot] = 0;
    },
  };
}
