/*
 * Collections for what comes and goes with requests. V8 makes the table of a `Map` or `Set` anew after some deletions, and
 * each old table holds its last entries and points to the next one: once one of them is in the old generation, all that
 * followed it, with what their entries hold, is kept until the next full collection. Here a deleted entry leaves nothing.
 */

/** Slots of an empty map. A power of two. */
const slotsMin = 64;
/** A hash is made of so many characters at a key's end, where ids and digests differ. */
const hashedChars = 16;

/** A map in one table, which grows with the most entries it ever had. Keys must differ in their last characters. */
export class BriefMap<Value> {
  size = 0;
  #keys: (string | null)[] = emptySlots(slotsMin);
  #values: (Value | null)[] = emptySlots(slotsMin);
  /** Slot that the key of each slot would have in an empty table. */
  #homes: number[] = new Array<number>(slotsMin).fill(0);
  /** The same of the key that was looked for last. */
  #home = 0;
  #mask = slotsMin - 1;

  get(key: string): Value | undefined {
    return this.#values[this.#slotOf(key)] ?? undefined;
  }

  has(key: string): boolean {
    return this.#keys[this.#slotOf(key)] !== null;
  }

  set(key: string, value: Value): void {
    let slot = this.#slotOf(key);
    if (this.#keys[slot] === null) {
      this.size += 1;
      if (2 * this.size > this.#keys.length) {
        this.#widen();
        slot = this.#slotOf(key);
      }
      this.#keys[slot] = key;
      this.#homes[slot] = this.#home;
    }
    this.#values[slot] = value;
  }

  /** Deletes the entry, and gives its value; undefined: there was none. */
  take(key: string): Value | undefined {
    let gap = this.#slotOf(key);
    if (this.#keys[gap] === null) return undefined;
    const value = this.#values[gap] ?? undefined;
    this.size -= 1;
    // Those behind it move up, unless they are where they belong: a search ends at the first empty slot.
    for (let at = gap; ; ) {
      at = (at + 1) & this.#mask;
      const other = this.#keys[at] ?? null;
      if (other === null) break;
      const home = this.#homes[at] ?? 0;
      if (((at - home) & this.#mask) < ((at - gap) & this.#mask)) continue;
      this.#keys[gap] = other;
      this.#values[gap] = this.#values[at] ?? null;
      this.#homes[gap] = home;
      gap = at;
    }
    this.#keys[gap] = null;
    this.#values[gap] = null;
    return value;
  }

  /** In no order. */
  *values(): Generator<Value> {
    for (const value of this.#values) if (value !== null) yield value;
  }

  /** Keys that it has now, in no order. */
  keys(): string[] {
    return this.#keys.filter((key) => key !== null);
  }

  clear(): void {
    for (const key of this.keys()) this.take(key);
  }

  /** Slot of a key, or the empty one that it would get. */
  #slotOf(key: string): number {
    const keys = this.#keys;
    let hash = 0x811c9dc5;
    for (let at = Math.max(0, key.length - hashedChars); at < key.length; at += 1) {
      hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
    }
    // The lowest bits alone choose the slot.
    this.#home = (hash ^ (hash >>> 15)) & this.#mask;
    let slot = this.#home;
    for (let there = keys[slot]; there !== null && there !== key; there = keys[slot]) slot = (slot + 1) & this.#mask;
    return slot;
  }

  #widen(): void {
    const keys = this.#keys;
    const values = this.#values;
    const slots = 2 * keys.length;
    this.#keys = emptySlots(slots);
    this.#values = emptySlots(slots);
    this.#homes = new Array<number>(slots).fill(0);
    this.#mask = slots - 1;
    for (const [at, key] of keys.entries()) {
      if (key === null) continue;
      const slot = this.#slotOf(key);
      this.#keys[slot] = key;
      this.#values[slot] = values[at] ?? null;
      this.#homes[slot] = this.#home;
    }
  }
}

function emptySlots(slots: number): null[] {
  return new Array<null>(slots).fill(null);
}

/** A member of one `BriefSet` at a time, which alone changes `place`. -1: it is in none. */
export interface Placed {
  place: number;
}

/** A set without an order, in one array, which grows with the most members that it ever had. */
export class BriefSet<Item extends Placed> {
  size = 0;
  readonly #items: (Item | null)[] = [];

  add(item: Item): void {
    item.place = this.size;
    this.#items[this.size] = item;
    this.size += 1;
  }

  /** False: it is not a member. The last member takes its place. */
  delete(item: Item): boolean {
    if (item.place < 0) return false;
    this.size -= 1;
    const last = this.#items[this.size] ?? item;
    last.place = item.place;
    this.#items[item.place] = last;
    this.#items[this.size] = null;
    item.place = -1;
    return true;
  }

  /** The members now, which may be deleted meanwhile. */
  values(): Item[] {
    return this.#items.slice(0, this.size) as Item[];
  }

  clear(): void {
    for (const item of this.values()) this.delete(item);
  }
}
