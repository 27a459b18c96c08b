import type { Clock } from '../../kernel/clock.ts';

const retryIntervalMs = 1_000;
/** A caller waits for so long, or for so many tries. */
const callerWaitMaxMs = 30_000;
const callerTriesMax = 30;
/** Ten minutes: a repeat may still get its reply. */
const retriesMax = 600;
/** Maximum number of replies and keys that wait to be written; at 1 MB each this is the most memory they take. */
const waitingMax = 64;

interface PatientWritesParts {
  clock: Pick<Clock, 'monotonicMs'>;
  pause(ms: number): Promise<unknown>;
  /** Gets a message when a write is given up. */
  onTrouble(message: string): void;
}

/** Writes of kept replies, tried again while the database cannot be used. */
export class PatientWrites {
  readonly #parts: PatientWritesParts;
  #waiting = 0;

  constructor(parts: PatientWritesParts) {
    this.#parts = parts;
  }

  /** Resolves to whether it was written, within what a caller waits for; goes on trying in any case. Never rejects. */
  written(step: () => Promise<void>, requestId: string): Promise<boolean> {
    const { clock } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const byMs = clock.monotonicMs() + callerWaitMaxMs;
    void this.#writeAtLast(step, requestId, (tries) => {
      if (tries >= callerTriesMax || clock.monotonicMs() >= byMs) resolve(false);
    }).then(resolve);
    return promise;
  }

  async #writeAtLast(
    step: () => Promise<void>,
    requestId: string,
    onFailed: (tries: number) => void,
  ): Promise<boolean> {
    this.#waiting++;
    try {
      for (let tries = 0; ; tries++) {
        try {
          await step();
          return true;
        } catch (error) {
          if (tries < retriesMax && this.#waiting <= waitingMax) {
            onFailed(tries);
            await this.#parts.pause(retryIntervalMs);
            continue;
          }
          this.#parts.onTrouble(`the Idempotency-Key of ${requestId} could not be stored: ${String(error)}`);
          return false;
        }
      }
    } finally {
      this.#waiting--;
    }
  }
}
