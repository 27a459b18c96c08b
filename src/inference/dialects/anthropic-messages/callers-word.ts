/** Fields of a Messages request by the words that encoders of other dialects tell losses and refusals in. */
const words: ReadonlyMap<string, string> = new Map([
  ['reasoning_effort', 'thinking'],
  ['response_format', 'output_config.format'],
  ['max_completion_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['stop', 'stop_sequences'],
  ['user', 'metadata.user_id'],
  ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  // Thoughts of earlier turns; what asks for new ones is told as `reasoning_effort`.
  ['thinking', 'messages.thinking'],
  ['reasoning_content', 'messages.thinking'],
]);

export function callersWord(field: string): string {
  return words.get(field) ?? field.replace(/\.reasoning_content$/, '.thinking');
}
