import type { FinishReason } from '../neutral/event.ts';

/** Words that Anthropic's Messages and Bedrock's Converse share. */
const shared: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  stop_sequence: 'stop-sequence',
};

/**
 * A `stop_reason` → neutral; `own`: the words of one vendor. An unknown word is a plain stop: vendors add reasons over
 * time, and the answer is whole. `toolCalls`: tool calls that the answer made; they decide where the word does not say
 * so, because OpenAI's clients run tools by the finish reason. `unwrapped`: forced calls that carried structured output.
 */
export function finishReasonOf(
  stopReason: string,
  own: Readonly<Record<string, FinishReason>>,
  { toolCalls, unwrapped }: { toolCalls: number; unwrapped: number },
): FinishReason {
  if (Object.hasOwn(own, stopReason)) return own[stopReason]!;
  if (Object.hasOwn(shared, stopReason)) return shared[stopReason]!;
  // The forced call is the answer's text, not a call.
  if (stopReason === 'tool_use') return toolCalls === 0 && unwrapped > 0 ? 'stop' : 'tool-calls';
  return toolCalls > 0 ? 'tool-calls' : 'stop';
}
