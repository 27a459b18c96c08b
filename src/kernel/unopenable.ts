import { FailureError } from './failure.ts';

const anotherSecret =
  'was sealed with another storage.secret, which this server does not have. An operator can add that secret to storage.earlier_secrets.';

/**
 * Refuses what a caller has stored and no secret of this server opens: the one that sealed it is no longer in
 * `storage.earlier_secrets`, or was forgotten. For the caller it is gone; the message tells the operator how to bring it back.
 */
export class Unopenable extends FailureError {
  /** `what`: begins the sentence, such as `The file 'file-1'`. `why`: goes on with it. */
  constructor(what: string, why: string = anotherSecret) {
    super({ kind: 'not-found', message: `${what} ${why}` });
  }
}

/** The rows of a list that can be opened: one that cannot must not take the whole list away. */
export function openable<Row, Opened>(rows: readonly Row[], open: (row: Row) => Opened): Opened[] {
  return rows.flatMap((row) => {
    try {
      return [open(row)];
    } catch (error) {
      if (error instanceof Unopenable) return [];
      throw error;
    }
  });
}
