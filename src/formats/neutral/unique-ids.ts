/** Ids of a conversation's tool calls, each of them once. The same conversation gets the same ids in every turn. */
export class UniqueIds {
  readonly #taken = new Set<string>();

  /** `id`, or with a number behind it where an earlier call has it. */
  take(id: string): string {
    let unique = id;
    for (let count = 2; this.#taken.has(unique); count += 1) unique = `${id}_${count}`;
    this.#taken.add(unique);
    return unique;
  }
}
