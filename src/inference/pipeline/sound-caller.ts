import type { Caller } from './caller.ts';

/** What is done with an upstream's sound. */
export interface SoundTaker {
  /** False: behind; `drained` of the caller says when to go on. */
  take(sound: Buffer): boolean;
  /** The upstream has said all. */
  ended(): void;
}

/** Stands in for the caller in an attempt that speaks: sound goes on from here, and may yet be converted. */
export class SoundCaller implements Caller {
  gone = false;
  committed = false;
  readonly #taker: SoundTaker;
  #goneListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;

  constructor(taker: SoundTaker) {
    this.#taker = taker;
  }

  /** The sound is wanted no more. */
  leave(): void {
    if (this.gone) return;
    this.gone = true;
    this.#goneListener?.();
  }

  drained(): void {
    this.#drainListener?.();
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  startStream(): void {
    this.committed = true;
  }

  write(chunk: Buffer | string): boolean {
    return this.gone || this.#taker.take(chunk as Buffer);
  }

  endStream(): void {
    if (!this.gone) this.#taker.ended();
  }

  answer(): never {
    throw new Error('speech was answered whole');
  }

  refuse(): never {
    throw new Error('speech was answered by a refusal');
  }

  expectStream(): never {
    throw new Error('speech was announced twice');
  }

  failStream(): never {
    throw new Error('an attempt ended its caller');
  }
}
