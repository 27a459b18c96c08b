import type { Failure } from '../../kernel/failure.ts';
import type { HeaderList } from './caller.ts';
import { WholeCaller } from './whole-caller.ts';

/** How a request ended that was asked whole. */
export type WholeOutcome =
  | { kind: 'answered'; status: number; headers: HeaderList; body: Buffer }
  | { kind: 'refused'; failure: Failure; headers: HeaderList };

/**
 * Stands in for a caller who gave an `Idempotency-Key`: holds the outcome back until it is kept, and never goes away,
 * so that the run comes to its end for the retry which the key announces. Whole answers only.
 */
export class PatientCaller extends WholeCaller {
  readonly gone = false;
  /** Null until the run has ended the answer. */
  outcome: WholeOutcome | null = null;

  get committed(): boolean {
    return this.outcome !== null;
  }

  onGone(): void {}

  answer(status: number, headers: HeaderList, body: Buffer | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.outcome ??= { kind: 'answered', status, headers, body: bytes };
  }

  refuse(failure: Failure, headers: HeaderList): void {
    this.outcome ??= { kind: 'refused', failure, headers };
  }
}
