/** Calls by name, as another process of this server asks for them. */
export interface NamedCalls {
  /** How many calls of this name run here. */
  count(name: string): number;
  /** Cancels those that run here. */
  end(name: string): void;
}

/** Offers the calls of this process to the others. The returned function cancels a call, in whichever it runs. */
export type ShareCalls = (calls: NamedCalls) => (name: string) => void;

/**
 * Running calls by their sender and the id that it gave them, for messages that cancel one. Ids are each client's
 * matter, and clients of one key may choose the same one: then nobody knows which call is meant, and none is cancelled.
 */
export class RunningCalls {
  readonly #calls = new Map<string, Set<() => void>>();
  /** Cancels the call of this name, if exactly one runs in all processes of this server. */
  readonly cancel: (name: string) => void;

  /** `share` is null where this is the only process. */
  constructor(share: ShareCalls | null) {
    const here: NamedCalls = {
      count: (name) => this.#calls.get(name)?.size ?? 0,
      end: (name) => {
        for (const cancel of this.#calls.get(name) ?? []) cancel();
      },
    };
    const alone = (name: string) => {
      if (here.count(name) === 1) here.end(name);
    };
    this.cancel = share === null ? alone : share(here);
  }

  /** Adds a call with the function that cancels it. The returned function takes it out. */
  add(name: string, cancel: () => void): () => void {
    const there = this.#calls.get(name) ?? new Set();
    this.#calls.set(name, there.add(cancel));
    return () => {
      if (there.delete(cancel) && there.size === 0) this.#calls.delete(name);
    };
  }
}
