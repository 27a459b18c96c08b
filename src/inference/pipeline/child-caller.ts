import type { Failure } from '../../kernel/failure.ts';
import type { NeutralEvent } from '../neutral/event.ts';
import type { Caller, HeaderList } from './caller.ts';

/** What a child of a request for several choices comes to. */
interface ChildEnds {
  ended(headers: HeaderList, events: readonly NeutralEvent[]): void;
  failed(failure: Failure, headers: HeaderList): void;
  events(): readonly NeutralEvent[];
}

/** The caller as one child of a request for several choices sees it. */
export class ChildCaller implements Caller {
  gone = false;
  readonly #parent: Caller;
  readonly #ends: ChildEnds;
  #goneListener: (() => void) | null = null;
  #drainListener: (() => void) | null = null;

  constructor(parent: Caller, ends: ChildEnds) {
    this.#parent = parent;
    this.#ends = ends;
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

  answer(_status: number, headers: HeaderList): void {
    if (!this.gone) this.#ends.ended(headers, this.#ends.events());
  }

  refuse(failure: Failure, headers: HeaderList): void {
    if (!this.gone) this.#ends.failed(failure, headers);
  }

  expectStream(): void {}

  startStream(headers: HeaderList): void {
    this.#parent.startStream(headers);
  }

  write(chunk: Buffer | string): boolean {
    return this.gone ? true : this.#parent.write(chunk);
  }

  endStream(): void {
    if (!this.gone) this.#ends.ended([], []);
  }

  failStream(failure: Failure): void {
    if (!this.gone) this.#ends.failed(failure, []);
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
