import type { Failure } from '../../kernel/failure.ts';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from './sink.ts';

/** End of a request. */
export type Outcome =
  | { kind: 'answered'; status: number; headers: HeaderList; body: Buffer }
  | { kind: 'refused'; failure: Failure; headers: HeaderList };

/** Runs work that answers `client`, which leaves with the signal. Its answer; null when it left before the end. */
export async function bufferAnswer(
  signal: AbortSignal | undefined,
  client: BufferedAnswer,
  work: (client: BufferedAnswer) => void | Promise<void>,
): Promise<Outcome | null> {
  const leave = () => client.leave();
  signal?.addEventListener('abort', leave, { once: true });
  if (signal?.aborted) leave();
  try {
    await work(client);
  } finally {
    signal?.removeEventListener('abort', leave);
  }
  return client.outcome;
}

/** A client within this process, which keeps its answer. It leaves on command only. */
export class BufferedAnswer implements Delivery {
  disconnected = false;
  readonly cutFor = null;
  /** Null until the answer has ended. */
  outcome: Outcome | null = null;
  #status = 200;
  #headers: HeaderList = [];
  readonly #pieces: Buffer[] = [];
  #disconnectListener: (() => void) | null = null;

  get committed(): boolean {
    return this.outcome !== null;
  }

  onDisconnect(listener: () => void): void {
    this.#disconnectListener = listener;
  }

  /** It takes all at once. */
  onDrain(): void {}

  /** It waits in silence. */
  expect(): void {}

  leave(): void {
    if (this.disconnected || this.committed) return;
    this.disconnected = true;
    this.#disconnectListener?.();
  }

  start(_form: AnswerForm, headers: HeaderList, status = 200): void {
    this.#status = status;
    this.#headers = headers;
  }

  chunk(chunk: Bytes): Pace {
    this.#pieces.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    return 'ready';
  }

  end(failed: Failed | null): void {
    if (this.disconnected) return;
    if (failed !== null) this.outcome ??= { kind: 'refused', failure: failed.failure, headers: failed.headers };
    else this.outcome ??= { kind: 'answered', status: this.#status, headers: this.#headers, body: this.#body() };
  }

  #body(): Buffer {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
  }
}
