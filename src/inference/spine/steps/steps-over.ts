import type { ModelCall } from '../model-call.ts';
import type { AnswerStep } from './after.ts';
import { FilteredEvents } from './filtered-events.ts';
import { GatedEvents } from './gated-events.ts';

/** The steps over a conversation's answer: its checks, what it waits for, the filters of its texts, and its keeping. */
export function stepsOver(
  checks: readonly AnswerStep[] | null,
  { answerTexts, keeping, gate }: Pick<ModelCall, 'answerTexts' | 'keeping' | 'gate'>,
): readonly AnswerStep[] {
  const filters: AnswerStep[] = [];
  if (gate !== undefined) {
    filters.push({
      over: (next, { answer, job }) => new GatedEvents(next, answer, gate, job.stream ? 'stream' : 'whole'),
    });
  }
  if (answerTexts !== undefined)
    filters.push({ over: (next, { answer }) => new FilteredEvents(next, answer, answerTexts) });
  return [...(checks ?? []), ...(keeping === undefined ? filters : [keeping.first, ...filters, keeping.last])];
}
