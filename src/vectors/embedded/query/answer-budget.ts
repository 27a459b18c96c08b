import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { CallBounds } from '../call-bounds.ts';

/** Bytes of a vector's number between the rows and the answer. */
const numberBytes = 8;

/**
 * How much one call may still read. An answer is refused while it is made, because a whole one has already taken its
 * memory.
 */
export type AnswerBudget = ReturnType<typeof createAnswerBudget>;

export function createAnswerBudget(bounds: CallBounds) {
  let readChars = 0;
  let answerBytes = 0;

  function keep(bytes: number): void {
    answerBytes += bytes;
    if (answerBytes > bounds.answerBytes) refuse(`The answer would be larger than ${bounds.answerBytes} bytes`);
  }

  return {
    /** A payload was read. Throws a FailureError (400), as `keep` does. */
    read(chars: number): void {
      readChars += chars;
      if (readChars > bounds.readChars)
        refuse(`The answer would need more than ${bounds.readChars} characters of payloads to be read`);
    },
    keep,
    keepNumbers: (count: number): void => keep(count * numberBytes),
    /** Kept so far. */
    get answerBytes(): number {
      return answerBytes;
    },
  };
}

function refuse(what: string): never {
  const message = `${what}: lower 'limit', ask for fewer at once, or leave out with_vector or with_payload.`;
  throw new FailureError(invalid('limit', message));
}
