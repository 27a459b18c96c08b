import type { Failure } from '../../kernel/failure.ts';
import type { Caller, HeaderList } from './caller.ts';

/** Whoever stands in for a caller that takes whole answers alone: a stream to it is a fault of ours. */
export abstract class WholeCaller implements Caller {
  abstract readonly committed: boolean;
  abstract readonly gone: boolean;
  abstract onGone(listener: () => void): void;
  abstract answer(status: number, headers: HeaderList, body: Buffer | string): void;
  abstract refuse(failure: Failure, headers: HeaderList): void;

  onDrain(): void {}

  expectStream(): never {
    throw new Error(`${this.constructor.name} was answered by a stream`);
  }

  startStream(): never {
    return this.expectStream();
  }

  write(): never {
    return this.expectStream();
  }

  endStream(): never {
    return this.expectStream();
  }

  failStream(): never {
    return this.expectStream();
  }
}
