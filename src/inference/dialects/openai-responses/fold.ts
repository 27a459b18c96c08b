import type { AnswerFold, AnswerHead } from '../dialect.ts';
import { createAnswer } from './answer.ts';

/** Events as one whole `response`: the object that a stream's last event carries. */
export function fold(head: AnswerHead): AnswerFold {
  const answer = createAnswer(head, null);
  return { add: (event) => answer.add(event), result: () => answer.response() };
}
