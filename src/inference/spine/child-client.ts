import type { Client } from './sink.ts';

/** The client as one of several requests sees it that are made for the same answer: choices, or turns. */
export class ChildClient implements Client {
  gone: boolean;
  readonly #parent: Client;
  #goneListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;

  constructor(parent: Client) {
    this.#parent = parent;
    this.gone = parent.gone;
  }

  get committed(): boolean {
    return this.#parent.committed;
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  leave(): void {
    if (this.gone) return;
    this.gone = true;
    this.#goneListener?.();
  }

  drained(): void {
    this.#drainListener?.();
  }
}
