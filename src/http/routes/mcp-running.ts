/**
 * Running calls by their sender and the id that it gave them, for messages that cancel one. Ids are each client's
 * matter, and clients of one key may choose the same one: then nobody knows which call is meant, and none is cancelled.
 */
export class RunningCalls {
  readonly #calls = new Map<string, Set<() => void>>();

  /** Adds a call with the function that cancels it. The returned function takes it out. */
  add(name: string, cancel: () => void): () => void {
    const there = this.#calls.get(name) ?? new Set();
    this.#calls.set(name, there.add(cancel));
    return () => {
      if (there.delete(cancel) && there.size === 0) this.#calls.delete(name);
    };
  }

  /** Cancels the call of this name, if there is exactly one. */
  cancel(name: string): void {
    const there = this.#calls.get(name);
    if (there?.size !== 1) return;
    for (const cancel of there) cancel();
  }
}
