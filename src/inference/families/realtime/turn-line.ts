/** Turns of the caller that wait for those before them. */
const waitingMax = 8;

/** The turns of one session: each begins when the one before it has ended. */
export class TurnLine {
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  readonly #onFault: () => void;

  /** `onFault` is called for a turn that rejects, which is a fault of ours. */
  constructor(onFault: () => void) {
    this.#onFault = onFault;
  }

  /** Message that too many turns wait; null: one more can. */
  full(): string | null {
    if (this.#waiting < waitingMax) return null;
    return `${waitingMax} turns are already waiting for their answers. Wait for one.`;
  }

  /** Adds a turn behind all others. Call it only where `full` is null. */
  add(turn: () => Promise<void>): void {
    this.#waiting += 1;
    this.#last = this.#last
      .then(turn)
      .catch(this.#onFault)
      .finally(() => {
        this.#waiting -= 1;
      });
  }
}
