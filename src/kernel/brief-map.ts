/**
 * A map whose entries come and go with requests. V8 makes the table of a `Map` anew after some deletions, and each old
 * table holds its last entries and points to the next one. Once one of them is in the old generation, all that followed
 * it, with what their entries hold, is kept until the next full collection. Here a deleted entry holds nothing.
 */
export class BriefMap<Key, Value extends object> {
  readonly #places = new Map<Key, { value: Value | null }>();

  get(key: Key): Value | undefined {
    return this.#places.get(key)?.value ?? undefined;
  }

  has(key: Key): boolean {
    return this.#places.has(key);
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#places.set(key, { value });
  }

  delete(key: Key): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    place.value = null;
    this.#places.delete(key);
  }

  *values(): Generator<Value> {
    for (const { value } of this.#places.values()) if (value !== null) yield value;
  }
}
