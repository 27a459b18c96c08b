import { PassingSink } from '../spine/passing-sink.ts';
import type { Bytes, Failed, Pace, Sink } from '../spine/sink.ts';

/**
 * The sink of a caller whose stream others take, too. What comes while its reader is behind waits here, so that the others
 * never wait for that reader. `othersWait`: they bound how much that is (`LiveAnswer`); without them the upstream pauses.
 * `ended` gets how the answer ends, before the caller does.
 */
export class LeadingSink extends PassingSink {
  readonly #othersWait: () => boolean;
  readonly #ended: (failed: Failed | null) => void;
  /** Calls that the reader has no place for yet. */
  #held: (() => Pace)[] = [];
  #isBehind = false;
  #passed: PromiseWithResolvers<void> | null = null;

  constructor(next: Sink, othersWait: () => boolean, ended: (failed: Failed | null) => void) {
    super(next);
    this.#othersWait = othersWait;
    this.#ended = ended;
  }

  override get finished(): Promise<void> {
    const last = () => this.next.finished ?? Promise.resolve();
    return this.#passed === null ? last() : this.#passed.promise.then(last);
  }

  override chunk(chunk: Bytes): Pace {
    if (!this.#isBehind) this.#isBehind = this.next.chunk(chunk) === 'behind';
    else {
      // A copy: what passes through belongs to the transport, which may write over it.
      const copy = typeof chunk === 'string' ? chunk : Buffer.from(chunk);
      this.#held.push(() => this.next.chunk(copy));
    }
    return this.#isBehind && !this.#othersWait() ? 'behind' : 'ready';
  }

  override end(failed: Failed | null): void {
    this.#ended(failed);
    if (this.#held.length === 0) return this.next.end(failed);
    this.#passed = Promise.withResolvers();
    this.#held.push(() => {
      this.next.end(failed);
      return 'ready';
    });
  }

  /** The reader can take more. True: it has all that came. */
  drained(): boolean {
    this.#isBehind = false;
    let passed = 0;
    while (passed < this.#held.length && !this.#isBehind) {
      this.#isBehind = this.#held[passed]?.() === 'behind';
      passed += 1;
    }
    this.#held.splice(0, passed);
    if (this.#held.length === 0) this.#passed?.resolve();
    return !this.#isBehind;
  }

  /** The reader has left. */
  drop(): void {
    this.#held = [];
    this.#isBehind = false;
    this.#passed?.resolve();
  }
}
