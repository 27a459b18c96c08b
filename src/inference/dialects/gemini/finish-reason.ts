import type { FinishReason } from '../../neutral/event.ts';

/**
 * Google's `finishReason` → neutral; null: the answer goes on. Every word but three tells of something withheld (a
 * call that is no JSON among them), so an unknown one is taken for that: it must not look like a whole answer.
 */
export function finishReasonOf(word: string, toolCalls: number): FinishReason | null {
  switch (word) {
    case '':
    case 'FINISH_REASON_UNSPECIFIED':
      return null;
    case 'STOP':
      // OpenAI's clients run tools by the finish reason; Google has no word for it.
      return toolCalls > 0 ? 'tool-calls' : 'stop';
    case 'MAX_TOKENS':
    case 'CONTINUATION':
      return 'length';
    default:
      return 'content-filter';
  }
}
