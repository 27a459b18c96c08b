import type { AnswerForm, Bytes, Client, Failed, HeaderList, Pace, Sink } from '../../spine/sink.ts';

/**
 * The same sink, for an answer that gives ids at a provider out: bytes that hold an id wait until its owner is written,
 * so that a crash right behind them makes no id a 404. Its reader is behind meanwhile.
 */
export class RecordedSink implements Sink {
  /** The client, as those see it who answer through this sink. */
  readonly client: Client;
  readonly #next: Sink;
  readonly #unwritten: () => Promise<void> | null;
  /** Calls that wait for ids; null: none does. */
  #held: (() => Pace)[] | null = null;
  #finished: Promise<void> = Promise.resolve();
  #onDrain: (() => void) | null = null;

  /** `unwritten` resolves when the ids given since its last call are written; null: they are. It never rejects. */
  constructor({ sink, client }: { sink: Sink; client: Client }, unwritten: () => Promise<void> | null) {
    this.#next = sink;
    this.#unwritten = unwritten;
    this.client = {
      get disconnected() {
        return client.disconnected;
      },
      get cutFor() {
        return client.cutFor;
      },
      get committed() {
        return client.committed;
      },
      onDisconnect: (listener) => client.onDisconnect(listener),
      onDrain: (listener) => {
        this.#onDrain = listener;
        client.onDrain(listener);
      },
    };
  }

  get finished(): Promise<void> {
    return this.#finished;
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.#pass(() => {
      this.#next.start(form, headers, status);
      return 'ready';
    });
  }

  chunk(chunk: Bytes): Pace {
    if (this.#mayPass()) return this.#next.chunk(chunk);
    // A copy: what passes through belongs to the transport, which may write over it.
    const copy = typeof chunk === 'string' ? chunk : Buffer.from(chunk);
    this.#held?.push(() => this.#next.chunk(copy));
    return 'behind';
  }

  end(failed: Failed | null): void {
    this.#pass(() => {
      this.#next.end(failed);
      return 'ready';
    });
  }

  #pass(call: () => Pace): void {
    if (this.#mayPass()) call();
    else this.#held?.push(call);
  }

  #mayPass(): boolean {
    if (this.#held !== null) return false;
    const written = this.#unwritten();
    if (written === null) return true;
    this.#held = [];
    this.#finished = this.#passWhen(written);
    return false;
  }

  async #passWhen(written: Promise<void>): Promise<void> {
    // More ids may have come with what was held meanwhile.
    for (let waits: Promise<void> | null = written; waits !== null; waits = this.#unwritten()) await waits;
    const held = this.#held ?? [];
    this.#held = null;
    let pace: Pace = 'ready';
    for (const call of held) pace = call();
    if (pace === 'ready') this.#onDrain?.();
  }
}
