import type { UpstreamId } from '../contract/dialect-matrix/formats.ts';

/** A vendor's usage of one answer, as its documentation shows it, and its sums. */
export interface DocumentedUsage {
  vendor: string;
  /** Type of provider. */
  type: string;
  format: UpstreamId | 'cohere-chat';
  /** Beside it: when a vendor has another place for it. */
  usage: object;
  at?: 'x_groq';
  /** Everything that was read, cached or not; everything that was written, thoughts too. */
  input: number;
  output: number;
  cached?: number;
  reasoning?: number;
}

const chat = (
  vendor: string,
  type: string,
  usage: object,
  sum: Omit<DocumentedUsage, 'vendor' | 'type' | 'usage' | 'format'>,
): DocumentedUsage => ({
  vendor,
  type,
  format: 'openai-chat',
  usage,
  ...sum,
});
const of =
  (format: DocumentedUsage['format'], type: string) =>
  (
    vendor: string,
    usage: object,
    sum: Omit<DocumentedUsage, 'vendor' | 'type' | 'usage' | 'format'>,
  ): DocumentedUsage => ({
    vendor,
    type,
    format,
    usage,
    ...sum,
  });
const messages = of('anthropic-messages', 'anthropic');
const responses = of('openai-responses', 'openai');
const google = of('gemini', 'gemini');
const cohere = of('cohere-chat', 'cohere');
const counts = (
  prompt_tokens: number,
  completion_tokens: number,
  total_tokens = prompt_tokens + completion_tokens,
) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
});
const thought = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });
const cached = (cached_tokens: number, more: object = {}) => ({ prompt_tokens_details: { cached_tokens, ...more } });

export const documentedUsages: readonly DocumentedUsage[] = [
  // Inside: cached tokens are part of the prompt, thoughts are part of the completion.
  chat(
    'OpenAI',
    'openai',
    { ...counts(2_006, 300), ...cached(1_920), ...thought(192) },
    { input: 2_006, output: 300, cached: 1_920, reasoning: 192 },
  ),
  chat(
    'Azure',
    'azure-openai',
    { ...counts(18, 40), ...cached(0), ...thought(0) },
    { input: 18, output: 40, cached: 0, reasoning: 0 },
  ),
  chat(
    'Groq',
    'groq',
    { queue_time: 0.1, ...counts(24, 377), prompt_time: 0.01, total_time: 1.2, ...thought(300) },
    { input: 24, output: 377, reasoning: 300 },
  ),
  chat('Groq, streamed of old', 'groq', counts(11, 7), { at: 'x_groq', input: 11, output: 7 }),
  chat(
    'OpenRouter',
    'openrouter',
    { ...counts(194, 60), cost: 0.95, ...cached(100, { cache_write_tokens: 90, audio_tokens: 0 }), ...thought(10) },
    { input: 194, output: 60, cached: 100, reasoning: 10 },
  ),
  chat('Mistral', 'mistral', counts(16, 34), { input: 16, output: 34 }),
  // What it bills stands beside all that its model read.
  cohere(
    'Cohere',
    { billed_units: { input_tokens: 5, output_tokens: 418 }, tokens: { input_tokens: 71, output_tokens: 420 } },
    { input: 5, output: 418 },
  ),
  chat('Together', 'together', { ...counts(20, 30), cached_tokens: 0 }, { input: 20, output: 30, cached: 0 }),
  chat('Fireworks', 'fireworks', { ...counts(20, 30), ...cached(16) }, { input: 20, output: 30, cached: 16 }),
  chat('NVIDIA', 'nvidia', counts(9, 90), { input: 9, output: 90 }),
  chat('Ollama', 'ollama', counts(26, 298), { input: 26, output: 298 }),
  chat('vLLM', 'vllm', { ...counts(7, 12), prompt_tokens_details: null }, { input: 7, output: 12 }),
  // Under names of their own.
  chat(
    'DeepSeek',
    'deepseek',
    { ...counts(16, 10), prompt_cache_hit_tokens: 12, prompt_cache_miss_tokens: 4, ...thought(6) },
    { input: 16, output: 10, cached: 12, reasoning: 6 },
  ),
  chat('Moonshot', 'openai', { ...counts(19, 13), cached_tokens: 10 }, { input: 19, output: 13, cached: 10 }),
  // Beside: the total tells of it, or nothing does.
  chat(
    'xAI',
    'xai',
    { ...counts(32, 9, 135), ...cached(6, { text_tokens: 32, audio_tokens: 0, image_tokens: 0 }), ...thought(94) },
    { input: 32, output: 103, cached: 6, reasoning: 94 },
  ),
  chat(
    'xAI behind another name',
    'openai',
    { ...counts(32, 9, 135), ...thought(94) },
    { input: 32, output: 103, reasoning: 94 },
  ),
  chat(
    'Mistral, of sound',
    'mistral',
    { prompt_audio_seconds: 3, ...counts(9, 248, 632), ...cached(0, { audio_tokens: 375 }) },
    { input: 384, output: 248, cached: 0 },
  ),
  chat("Google's layer of this format", 'openai', counts(35, 12, 109), { input: 35, output: 74 }),
  chat(
    'a layer over Claude that counts the cache apart',
    'openai',
    { ...counts(8, 20, 1_028), ...cached(1_000) },
    { input: 1_008, output: 20, cached: 1_000 },
  ),
  chat(
    'Perplexity',
    'openai',
    { ...counts(14, 372), search_context_size: 'low', num_search_queries: 1 },
    { input: 14, output: 372 },
  ),
  chat(
    "Perplexity's research",
    'openai',
    { ...counts(33, 7_163), citation_tokens: 19_028, num_search_queries: 30, reasoning_tokens: 73_997 },
    { input: 19_061, output: 81_160, reasoning: 73_997 },
  ),
  responses(
    'OpenAI, Responses',
    {
      input_tokens: 328,
      input_tokens_details: { cached_tokens: 200 },
      output_tokens: 52,
      output_tokens_details: { reasoning_tokens: 40 },
      total_tokens: 380,
    },
    { input: 328, output: 52, cached: 200, reasoning: 40 },
  ),
  responses(
    'Responses with thoughts beside',
    { input_tokens: 10, output_tokens: 5, output_tokens_details: { reasoning_tokens: 60 }, total_tokens: 75 },
    { input: 10, output: 65, reasoning: 60 },
  ),
  messages(
    'Anthropic',
    {
      input_tokens: 21,
      cache_creation_input_tokens: 188_086,
      cache_read_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 188_000, ephemeral_1h_input_tokens: 86 },
      output_tokens: 393,
    },
    { input: 188_607, output: 393, cached: 500 },
  ),
  messages(
    'Anthropic, compacted',
    {
      input_tokens: 23_000,
      output_tokens: 1_000,
      iterations: [
        { type: 'compaction', input_tokens: 180_000, cache_read_input_tokens: 50, output_tokens: 3_500 },
        { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
      ],
    },
    { input: 203_050, output: 4_500, cached: 50 },
  ),
  messages(
    'Anthropic, advised',
    {
      input_tokens: 412,
      output_tokens: 531,
      iterations: [
        { type: 'message', input_tokens: 400, output_tokens: 89 },
        { type: 'advisor_message', model: 'claude-opus-4-6', input_tokens: 823, output_tokens: 1_612 },
        { type: 'message', input_tokens: 12, output_tokens: 442 },
      ],
    },
    { input: 1_235, output: 2_143 },
  ),
  google(
    'Gemini',
    {
      promptTokenCount: 7_477,
      cachedContentTokenCount: 4_000,
      candidatesTokenCount: 2_060,
      thoughtsTokenCount: 1_939,
      totalTokenCount: 11_476,
    },
    { input: 7_477, output: 3_999, cached: 4_000, reasoning: 1_939 },
  ),
  google(
    'Gemini with tools of its own',
    {
      promptTokenCount: 50,
      toolUsePromptTokenCount: 9_000,
      candidatesTokenCount: 80,
      thoughtsTokenCount: 20,
      totalTokenCount: 9_150,
    },
    { input: 9_050, output: 100, reasoning: 20 },
  ),
  google(
    'Gemini, thoughts in the total alone',
    { promptTokenCount: 20, candidatesTokenCount: 198, totalTokenCount: 623 },
    { input: 20, output: 603 },
  ),
  google(
    'Gemini that thought and said nothing',
    { promptTokenCount: 21, thoughtsTokenCount: 60, totalTokenCount: 81 },
    { input: 21, output: 60, reasoning: 60 },
  ),
];
