import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../../inference/spine/sink.ts';

/** A delivery before another one, to which it passes all that a subclass does not change. */
export abstract class PassedDelivery implements Delivery {
  protected readonly next: Delivery;

  constructor(next: Delivery) {
    this.next = next;
  }

  get disconnected(): boolean {
    return this.next.disconnected;
  }

  get cutFor(): Delivery['cutFor'] {
    return this.next.cutFor;
  }

  get committed(): boolean {
    return this.next.committed;
  }

  get finished(): Promise<void> {
    return this.next.finished ?? Promise.resolve();
  }

  onDisconnect(listener: () => void): void {
    this.next.onDisconnect(listener);
  }

  onDrain(listener: () => void): void {
    this.next.onDrain(listener);
  }

  expect(earlyHeaders: HeaderList): void {
    this.next.expect(earlyHeaders);
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
