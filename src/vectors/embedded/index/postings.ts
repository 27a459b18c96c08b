const firstCapacity = 2;
/** Bytes of a term in the map and in its columns. */
const termBytes = 64;

/**
 * For each term (a sparse vector's index) the rows that have it, in the order in which they came, with their values. All
 * lists lie in one pool: an array each would take more than most lists hold.
 */
export function createPostings() {
  const numbers = new Map<number, number>();
  let starts = new Uint32Array(64);
  let counts = new Uint32Array(64);
  let capacities = new Uint32Array(64);
  let alive = new Uint32Array(64);
  let rows = new Uint32Array(256);
  let values = new Float32Array(256);
  let used = 0;

  function termOf(term: number): number {
    const known = numbers.get(term);
    if (known !== undefined) return known;
    const made = numbers.size;
    if (made === starts.length) {
      starts = grown(starts, made * 2);
      counts = grown(counts, made * 2);
      capacities = grown(capacities, made * 2);
      alive = grown(alive, made * 2);
    }
    numbers.set(term, made);
    return made;
  }

  /** Room for one more at the end of a list: the last one of the pool grows where it is, others move there. */
  function makeRoom(at: number): void {
    const capacity = Math.max(firstCapacity, capacities[at]! + (capacities[at]! >> 1) + 1);
    if (used + capacity > rows.length) {
      const room = Math.max(used + capacity, rows.length + (rows.length >> 1));
      rows = grown(rows, room);
      const larger = new Float32Array(room);
      larger.set(values);
      values = larger;
    }
    const start = starts[at]!;
    const count = counts[at]!;
    rows.copyWithin(used, start, start + count);
    values.copyWithin(used, start, start + count);
    starts[at] = used;
    capacities[at] = capacity;
    used += capacity;
  }

  return {
    /** Rough bytes of the pool and the table of terms. */
    get bytes(): number {
      return rows.length * 8 + numbers.size * termBytes;
    },
    add(term: number, row: number, value: number): void {
      const at = termOf(term);
      if (counts[at] === capacities[at]) makeRoom(at);
      const end = starts[at]! + counts[at]!;
      rows[end] = row;
      values[end] = value;
      counts[at]!++;
      alive[at]!++;
    },
    /** A row that is counted no more: its entry stays until `compact`. */
    forget(term: number): void {
      const at = numbers.get(term);
      if (at !== undefined) alive[at]!--;
    },
    /** Rows that have the term, forgotten ones left out. */
    frequency(term: number): number {
      const at = numbers.get(term);
      return at === undefined ? 0 : alive[at]!;
    },
    /** `rows` and `values` hold its list from `start` to `end`; views end at the next `add`. Null: no such term. */
    list(term: number): { start: number; end: number } | null {
      const at = numbers.get(term);
      return at === undefined ? null : { start: starts[at]!, end: starts[at]! + counts[at]! };
    },
    get rows(): Uint32Array {
      return rows;
    },
    get values(): Float32Array {
      return values;
    },
    /** Leaves out the rows that `renumber` gives −1, and gives the others their new numbers. */
    compact(renumber: (row: number) => number): void {
      let total = 0;
      for (const at of numbers.values()) total += alive[at]!;
      const tightRows = new Uint32Array(total + (total >> 3) + 256);
      const tightValues = new Float32Array(tightRows.length);
      const live = [...numbers].filter(([, at]) => alive[at]! > 0);
      const [oldStarts, oldCounts] = [starts, counts];
      numbers.clear();
      const room = Math.max(64, live.length);
      starts = new Uint32Array(room);
      counts = new Uint32Array(room);
      capacities = new Uint32Array(room);
      alive = new Uint32Array(room);
      used = 0;
      for (const [term, at] of live) {
        const made = numbers.size;
        numbers.set(term, made);
        starts[made] = used;
        for (let i = oldStarts[at]!, end = i + oldCounts[at]!; i < end; i++) {
          const row = renumber(rows[i]!);
          if (row === -1) continue;
          tightRows[used] = row;
          tightValues[used++] = values[i]!;
        }
        counts[made] = used - starts[made]!;
        capacities[made] = counts[made]!;
        alive[made] = counts[made]!;
      }
      rows = tightRows;
      values = tightValues;
    },
  };
}

function grown(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(array);
  return larger;
}
