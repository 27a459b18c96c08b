import type { ModelCall } from '../model-call.ts';
import type { AnswerStep } from './after.ts';
import { filteredEvents } from './filtered-events.ts';
import { gatedEvents } from './gated-events.ts';

/**
 * The steps over a conversation's answer: its checks, what it waits for, then the filters of its texts, and around these
 * its keeping.
 */
export function stepsOver(
  checks: readonly AnswerStep[] | null,
  { answerTexts, keeping, gate }: Pick<ModelCall, 'answerTexts' | 'keeping' | 'gate'>,
): readonly AnswerStep[] {
  const gates = gate === undefined ? [] : [gatedEvents(gate)];
  const filters = [...gates, ...(answerTexts === undefined ? [] : [filteredEvents(answerTexts)])];
  return [...(checks ?? []), ...(keeping === undefined ? filters : [keeping.first, ...filters, keeping.last])];
}
