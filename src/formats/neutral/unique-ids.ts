/** Ids of a conversation's tool calls, or names, each of them once. The same conversation gets the same in every turn. */
export class UniqueIds {
  readonly #taken = new Set<string>();
  /** The number to try next, by id. */
  readonly #next = new Map<string, number>();

  /** `id`, or with a number behind it where an earlier one has it. */
  take(id: string, separator = '_'): string {
    let unique = id;
    let count = this.#next.get(id) ?? 2;
    for (; this.#taken.has(unique); count += 1) unique = `${id}${separator}${count}`;
    this.#next.set(id, count);
    this.#taken.add(unique);
    return unique;
  }
}
