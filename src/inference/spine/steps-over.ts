import type { AnswerStep } from './after.ts';
import { filteredEvents } from './filtered-events.ts';
import type { ModelCall } from './model-call.ts';

/** The steps over a conversation's answer: its checks, then the filters of its texts, and around these its keeping. */
export function stepsOver(
  checks: readonly AnswerStep[] | null,
  { answerTexts, keeping }: Pick<ModelCall, 'answerTexts' | 'keeping'>,
): readonly AnswerStep[] {
  const filters = answerTexts === undefined ? [] : [filteredEvents(answerTexts)];
  return [...(checks ?? []), ...(keeping === undefined ? filters : [keeping.first, ...filters, keeping.last])];
}
