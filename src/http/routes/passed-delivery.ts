import { PassingSink } from '../../inference/spine/passing-sink.ts';
import type { Delivery, HeaderList } from '../../inference/spine/sink.ts';

/** A delivery before another one, to which it passes all that a subclass does not change. */
export abstract class PassedDelivery extends PassingSink implements Delivery {
  declare protected readonly next: Delivery;

  constructor(next: Delivery) {
    super(next);
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

  onDisconnect(listener: () => void): void {
    this.next.onDisconnect(listener);
  }

  onDrain(listener: () => void): void {
    this.next.onDrain(listener);
  }

  expect(earlyHeaders: HeaderList): void {
    this.next.expect(earlyHeaders);
  }
}
