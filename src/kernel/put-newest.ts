/** Puts an entry at the end of a map. Beyond `entriesMax` the first ones go: those that were put the longest ago. */
export function putNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= entriesMax) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    if (map.size <= entriesMax) return;
  }
}
