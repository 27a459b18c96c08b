/** Fields that encoders of other dialects name in OpenAI's older format, by what they are called here. */
const words: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['response_format.json_schema.schema', 'text.format.schema'],
  ['reasoning_effort', 'reasoning.effort'],
  ['logprobs', 'include'],
  ['messages', 'input'],
  ['thinking', 'input.reasoning'],
  ['reasoning_content', 'input.reasoning'],
]);

/** The caller's word for `field`; `origins` are those of `toNeutral`. */
export function callersWord(field: string, origins: () => readonly number[]): string {
  const known = words.get(field);
  if (known !== undefined) return known;
  const message = /^messages\[(\d+)\]/.exec(field);
  if (message !== null) {
    const index = origins()[Number(message[1])] ?? -1;
    // Parts of a turn may come from several items; which one is not known, but that it begins there is.
    return index < 0 ? 'input' : `input[${index}]`;
  }
  if (field.startsWith('messages.')) return `input.${field.slice('messages.'.length)}`;
  return field.replace(/^(tools\[\d+\])\.function/, '$1');
}
