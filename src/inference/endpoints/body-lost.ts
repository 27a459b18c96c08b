import type { Failure } from '../../kernel/failure.ts';

/** The thread that had the body died, most often of its heap: the answer is 503 with Retry-After (faults.md F77). */
export const bodyLost: Failure = {
  kind: 'overloaded',
  message: 'This server ran out of memory while it read large requests. Send the request again, or a smaller one.',
};
