/** Value of a key that the map must have. A missing one is an error of this code, so it throws. */
export function knownEntry<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`The map has no entry '${String(key)}'.`);
  return value;
}

/** Member of a record itself, never of its prototype. */
export function directMember<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
