const continueAgainMs = 5_000;

/** Something that is opened when it is first needed, such as a store that most servers never use. */
export class OpenedOnce<Opened> {
  readonly #open: () => Promise<Opened>;
  #opening: Promise<Opened> | null = null;
  #isClosed = false;

  constructor(open: () => Promise<Opened>) {
    this.#open = open;
  }

  /** Nobody has needed it, or it could not be opened. */
  get unused(): boolean {
    return this.#opening === null;
  }

  /** Opens it at the first call. After a failure the next call tries again. Rejects once it is closed. */
  readonly open = (): Promise<Opened> => {
    if (this.#isClosed) return Promise.reject(new Error('the server is stopping'));
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  };

  /** Opens it for `work` that waits there, and tries again until it is open. `onTrouble` gets one sentence. */
  continue(work: string, onTrouble: (message: string) => void): void {
    this.open().catch((error: unknown) => {
      if (this.#isClosed) return;
      onTrouble(`${work} could not be continued, which is tried again: ${String(error)}`);
      setTimeout(() => this.continue(work, () => undefined), continueAgainMs).unref();
    });
  }

  /** Value that is open by now, or is being opened; null: nothing is. Never rejects. */
  async opened(): Promise<Opened | null> {
    return (await this.#opening?.catch(() => null)) ?? null;
  }

  /** Opens nothing from now on. Value that is left to be ended; null: nothing is open. */
  close(): Promise<Opened | null> {
    this.#isClosed = true;
    return this.opened();
  }
}
