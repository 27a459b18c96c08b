import { write, writeSync } from 'node:fs';

export interface LineOutputOptions {
  fd: number;
  /** Lines are gathered up to this: every write wakes a thread. */
  batchBytes: number;
  /** Beyond this a sink that takes nothing loses lines. */
  waitingBytesMax: number;
}

/** A pipe whose reader is behind. */
const behindRetryMs = 50;

/**
 * Where log lines go: gathered, written off the loop, in order, and never a reason for anything else to fail. Not
 * pino's own destination, which measures the whole batch again for each line (3 µs a request).
 */
export class LineOutput {
  readonly #options: LineOutputOptions;
  #lines: string[] = [];
  /** In UTF-16 units: lines are ASCII but for what users put in. */
  #waiting = 0;
  #state: 'idle' | 'writing' = 'idle';

  constructor(options: LineOutputOptions) {
    this.#options = options;
  }

  write(line: string): void {
    if (this.#waiting + line.length > this.#options.waitingBytesMax) return;
    this.#lines.push(line);
    this.#waiting += line.length;
    if (this.#waiting >= this.#options.batchBytes) this.flush();
  }

  /** Begins to write what waits. */
  flush(): void {
    if (this.#state === 'writing' || this.#lines.length === 0) return;
    this.#state = 'writing';
    this.#send(this.#take());
  }

  /** For the end of the process; what the sink does not take at once is lost. */
  flushSync(): void {
    if (this.#lines.length === 0) return;
    try {
      writeSync(this.#options.fd, this.#take());
    } catch {
      // The sink is gone, or full.
    }
  }

  #take(): Buffer {
    const batch = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#waiting = 0;
    return batch;
  }

  #send(batch: Buffer): void {
    write(this.#options.fd, batch, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#send(batch), behindRetryMs).unref();
        return;
      }
      // Any other error means that this batch is lost: the next one may find the sink again.
      if (error === null && written < batch.length) return this.#send(batch.subarray(written));
      this.#state = 'idle';
      if (this.#waiting >= this.#options.batchBytes) this.flush();
    });
  }
}
