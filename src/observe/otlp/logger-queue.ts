import { withinMs } from '../../kernel/within-ms.ts';
import type { SpanBatch } from './span-sender.ts';

/** Batches that may wait for one service: 4 MB. */
const waitingMax = 16;

export interface LoggerQueueParts {
  /** Resolves to `done`, to `empty` if the service takes nothing of the batch, or to why it was given up. Never rejects. */
  send(batch: SpanBatch): Promise<'done' | 'empty' | { why: string }>;
  onLost(why: string): void;
  onBack(lost: number): void;
}

/** The batches for one service, each a copy: a service that is slow or gone holds neither requests nor other services. */
export class LoggerQueue {
  readonly #parts: LoggerQueueParts;
  readonly #waiting: SpanBatch[] = [];
  #sending: Promise<void> | null = null;
  /** Spans lost since the service took one. */
  #lost = 0;

  constructor(parts: LoggerQueueParts) {
    this.#parts = parts;
  }

  take({ body, spans }: SpanBatch): void {
    if (this.#waiting.length >= waitingMax) return this.#lose(spans, 'it is too slow');
    this.#waiting.push({ body: Buffer.from(body), spans });
    this.#sending ??= this.#send();
  }

  /** Resolves when none waits any more, or after `waitMs`. */
  async close(waitMs: number): Promise<void> {
    await withinMs(waitMs, this.#sending, null);
  }

  async #send(): Promise<void> {
    for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
      const outcome = await this.#parts.send(batch);
      this.#waiting.shift();
      if (typeof outcome === 'object') this.#lose(batch.spans, outcome.why);
      else if (this.#lost > 0 && outcome === 'done') {
        this.#parts.onBack(this.#lost);
        this.#lost = 0;
      }
    }
    this.#sending = null;
  }

  #lose(spans: number, why: string): void {
    if (this.#lost === 0) this.#parts.onLost(why);
    this.#lost += spans;
  }
}
