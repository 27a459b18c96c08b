import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from './sink.ts';

/** A sink before another, to which it passes what its own class does not change. */
export abstract class PassingSink implements Sink {
  protected readonly next: Sink;

  constructor(next: Sink) {
    this.next = next;
  }

  get finished(): Promise<void> {
    return this.next.finished ?? Promise.resolve();
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.next.start(form, headers, status);
  }

  chunk(chunk: Bytes): Pace {
    return this.next.chunk(chunk);
  }

  end(failed: Failed | null): void {
    this.next.end(failed);
  }
}
