/** OpenAI's names of fields, by which encoders tell what they lost or refused, in the words of Google's callers. */
const words: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'generationConfig.maxOutputTokens'],
  ['temperature', 'generationConfig.temperature'],
  ['top_p', 'generationConfig.topP'],
  ['top_k', 'generationConfig.topK'],
  ['seed', 'generationConfig.seed'],
  ['stop', 'generationConfig.stopSequences'],
  ['n', 'generationConfig.candidateCount'],
  ['logprobs', 'generationConfig.responseLogprobs'],
  ['presence_penalty', 'generationConfig.presencePenalty'],
  ['frequency_penalty', 'generationConfig.frequencyPenalty'],
  ['reasoning_effort', 'generationConfig.thinkingConfig'],
  ['thinking.budget_tokens', 'generationConfig.thinkingConfig.thinkingBudget'],
  // These two are thoughts of earlier turns, not what asks for new ones.
  ['thinking', 'contents.thought'],
  ['reasoning_content', 'contents.thought'],
  ['tool_choice', 'toolConfig'],
  ['parallel_tool_calls', 'toolConfig'],
]);

/** `instructions`: how many messages before the first of `contents` were made of the system instruction. */
export function callersWord(field: string, instructions: number): string {
  const word = words.get(field);
  if (word !== undefined) return word;
  if (field.startsWith('response_format')) return 'generationConfig.responseSchema';
  return field
    .replace(/^messages\[(\d+)\]/, (_, at: string) =>
      Number(at) < instructions ? 'systemInstruction' : `contents[${Number(at) - instructions}]`,
    )
    .replace(/^messages\b/, 'contents')
    .replace(/\.(reasoning_)?content\b/, '.parts');
}
