import type { Client } from './sink.ts';

/** The client as one of several requests sees it that are made for the same answer: choices, or turns. */
export class ChildClient implements Client {
  disconnected: boolean;
  /** The code that joins the requests' answers writes why theirs is cut. */
  readonly cutFor = null;
  readonly #parent: Client;
  #disconnectListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;

  constructor(parent: Client) {
    this.#parent = parent;
    this.disconnected = parent.disconnected;
  }

  get committed(): boolean {
    return this.#parent.committed;
  }

  onDisconnect(listener: () => void): void {
    this.#disconnectListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  leave(): void {
    if (this.disconnected) return;
    this.disconnected = true;
    this.#disconnectListener?.();
  }

  drained(): void {
    this.#drainListener?.();
  }
}
