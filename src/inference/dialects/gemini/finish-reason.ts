import type { FinishReason } from '../../neutral/event.ts';

/**
 * Google's `finishReason` → neutral. `broken`: the model's answer came to nothing (a call that is no JSON), and asking
 * again or elsewhere may help; null: the answer goes on. Every word but three tells of something withheld, so an
 * unknown one is taken for that: it must not look like a whole answer.
 */
export function finishReasonOf(word: string, toolCalls: number): FinishReason | 'broken' | null {
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
    case 'MALFORMED_FUNCTION_CALL':
    case 'MALFORMED_RESPONSE':
    case 'UNEXPECTED_TOOL_CALL':
    case 'TOO_MANY_TOOL_CALLS':
    case 'MISSING_THOUGHT_SIGNATURE':
    case 'NO_IMAGE':
      return 'broken';
    default:
      return 'content-filter';
  }
}
