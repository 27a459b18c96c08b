/** A set of slots, one bit each. Combined sets have the same length. */
export type SlotSet = Uint32Array;

/** Words of a set that holds the slots below `slotEnd`. */
export function wordsFor(slotEnd: number): number {
  return (slotEnd + 31) >>> 5;
}

export function addSlot(set: SlotSet, slot: number): void {
  set[slot >>> 5] = set[slot >>> 5]! | (1 << (slot & 31));
}

export function removeSlot(set: SlotSet, slot: number): void {
  set[slot >>> 5] = set[slot >>> 5]! & ~(1 << (slot & 31));
}

export function hasSlot(set: SlotSet, slot: number): boolean {
  return ((set[slot >>> 5] ?? 0) & (1 << (slot & 31))) !== 0;
}

export function both(a: SlotSet, b: SlotSet): SlotSet {
  const out = new Uint32Array(a.length);
  for (let i = 0; i < out.length; i++) out[i] = a[i]! & b[i]!;
  return out;
}

export function either(a: SlotSet, b: SlotSet): SlotSet {
  const out = new Uint32Array(a.length);
  for (let i = 0; i < out.length; i++) out[i] = a[i]! | b[i]!;
  return out;
}

/** The members of `a` that are not in `b`. */
export function without(a: SlotSet, b: SlotSet): SlotSet {
  const out = new Uint32Array(a.length);
  for (let i = 0; i < out.length; i++) out[i] = a[i]! & ~b[i]!;
  return out;
}

export function sizeOf(set: SlotSet): number {
  let size = 0;
  for (const word of set) size += bitsOf(word);
  return size;
}

/** Ascending. */
export function slotsOf(set: SlotSet): Uint32Array {
  const slots = new Uint32Array(sizeOf(set));
  let at = 0;
  let first = 0;
  for (const word of set) {
    for (let left = word; left !== 0; left &= left - 1) slots[at++] = first + 31 - Math.clz32(left & -left);
    first += 32;
  }
  return slots;
}

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
