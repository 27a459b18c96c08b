import type { AnswerHead, StreamEncoder } from '../dialect.ts';
import { createAnswer } from './answer.ts';

/**
 * Events as the full sequence of Responses: created, in_progress, for each item added, its parts and deltas, done, and
 * last `response.completed` or `response.incomplete` with the whole output. After `failed` the caller of this writes
 * the error frame, which `mark` lets continue the count.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  let frames = '';
  let sequence = 0;
  const answer = createAnswer(head, (type, members) => {
    frames += frameOf(type, sequence, members);
    sequence += 1;
  });
  return {
    step(event) {
      answer.add(event);
      if (frames === '') return '';
      const told = frames;
      frames = '';
      return told;
    },
    mark: () => ({ id: answer.id, sequence }),
  };
}

/** One event of the wire; `members` as in `Tell`. */
export function frameOf(type: string, sequence: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence}${members}}\n\n`;
}
