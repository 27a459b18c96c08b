import { WholeCaller } from './whole-caller.ts';

/** Stands in for the caller in one of the calls that make up an attempt: keeps the answer, leaves when told. */
export class BatchCaller extends WholeCaller {
  gone = false;
  /** Null until it is there. */
  bytes: Buffer | null = null;
  #goneListener: (() => void) | null = null;

  get committed(): boolean {
    return this.bytes !== null;
  }

  /** The call is wanted no more. */
  leave(): void {
    if (this.gone || this.committed) return;
    this.gone = true;
    this.#goneListener?.();
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  answer(_status: number, _headers: readonly string[], body: Buffer | string): void {
    this.bytes = typeof body === 'string' ? Buffer.from(body) : body;
  }

  refuse(): never {
    throw new Error('a batch was answered by a refusal');
  }
}
