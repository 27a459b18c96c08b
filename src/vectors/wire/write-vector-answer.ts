import { FailureError, invalid } from '../../kernel/failure.ts';

/** Largest size of one answer; beyond it the caller gets an error that asks for less. */
const answerBytesMax = 256 * 1024 * 1024;

const encoder = new TextEncoder();

/** Qdrant's envelope. `elapsedMs`: shown in seconds. Throws a FailureError (400) for an answer that is too large. */
export function writeAnswer(result: unknown, elapsedMs: number, bytesMax = answerBytesMax): Uint8Array<ArrayBuffer> {
  const text = jsonOf({ result, status: 'ok', time: Math.round(elapsedMs * 1e3) / 1e6 });
  const bytes = text === null ? null : encoder.encode(text);
  if (bytes === null || bytes.length > bytesMax) {
    const message = `The answer would be larger than ${bytesMax} bytes: lower 'limit', or leave out with_vector or with_payload.`;
    throw new FailureError(invalid('limit', message));
  }
  return bytes;
}

/** Null when it is longer than a string can be. */
function jsonOf(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
