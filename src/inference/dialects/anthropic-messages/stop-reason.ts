import type { FinishReason } from '../../neutral/event.ts';

/**
 * Anthropic's `stop_reason` → neutral. An unknown word is a plain stop: Anthropic adds reasons over time, and the
 * answer is whole. `toolCalls`: tool calls that the answer made; they decide where the word does not say so, because
 * OpenAI's clients run tools by the finish reason.
 */
export function finishReasonOf(stopReason: string, toolCalls: number, unwrapped: number): FinishReason {
  switch (stopReason) {
    case 'max_tokens':
      return 'length';
    case 'model_context_window_exceeded':
      return 'context-full';
    case 'refusal':
      return 'content-filter';
    case 'pause_turn':
      return 'pause';
    case 'stop_sequence':
      return 'stop-sequence';
    case 'tool_use':
      // The forced call that carries structured output is the answer's text, not a call.
      return toolCalls === 0 && unwrapped > 0 ? 'stop' : 'tool-calls';
    default:
      return toolCalls > 0 ? 'tool-calls' : 'stop';
  }
}

const toWire = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-full': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  pause: 'pause_turn',
} as const satisfies Record<FinishReason, string>;

export function wireStopReason(reason: FinishReason): string {
  return toWire[reason];
}
