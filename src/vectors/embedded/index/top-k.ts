/** The best `capacity` of the offered ones: greater keys first, equal ones by the smaller id. */
export type TopK = ReturnType<typeof createTopK>;

/** A binary heap in typed arrays, the worst at the root. NaN counts as the worst of keys. */
export function createTopK(capacity: number) {
  const memory = new ArrayBuffer(capacity * (Float64Array.BYTES_PER_ELEMENT + Uint32Array.BYTES_PER_ELEMENT));
  const keys = new Float64Array(memory, 0, capacity);
  const ids = new Uint32Array(memory, keys.byteLength, capacity);
  let count = 0;

  const worse = (key: number, id: number, otherKey: number, otherId: number): boolean =>
    key < otherKey || (key === otherKey && id > otherId);
  const worseAt = (at: number, key: number, id: number): boolean => worse(keys[at]!, ids[at]!, key, id);

  function move(from: number, to: number): void {
    keys[to] = keys[from]!;
    ids[to] = ids[from]!;
  }

  function sinkFromRoot(key: number, id: number, end: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= end) break;
      const right = child + 1;
      if (right < end && worseAt(right, keys[child]!, ids[child]!)) child = right;
      if (!worseAt(child, key, id)) break;
      move(child, at);
      at = child;
    }
    keys[at] = key;
    ids[at] = id;
  }

  function rise(key: number, id: number): void {
    let at = count;
    count += 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!worse(key, id, keys[parent]!, ids[parent]!)) break;
      move(parent, at);
      at = parent;
    }
    keys[at] = key;
    ids[at] = id;
  }

  return {
    get count(): number {
      return count;
    },
    /** A key must beat it (or be equal, with a smaller id) to get in; −Infinity while there is room. */
    get floor(): number {
      return count < capacity || capacity === 0 ? Number.NEGATIVE_INFINITY : keys[0]!;
    },
    offer(offered: number, id: number): void {
      const key = Number.isNaN(offered) ? Number.NEGATIVE_INFINITY : offered;
      if (count < capacity) rise(key, id);
      else if (capacity > 0 && worseAt(0, key, id)) sinkFromRoot(key, id, count);
    },
    /** Best first. Once: they lie in the memory of the heap, which takes no more afterwards. */
    drain(): { keys: Float64Array; ids: Uint32Array } {
      const total = count;
      for (let end = total - 1; end > 0; end -= 1) {
        const key = keys[end]!;
        const id = ids[end]!;
        move(0, end);
        sinkFromRoot(key, id, end);
      }
      count = 0;
      return { keys: keys.subarray(0, total), ids: ids.subarray(0, total) };
    },
  };
}
