import { choiceInWords } from '../forced-calls.ts';
import { grammarSchemas } from '../grammar-schemas.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

/** https://github.com/ggml-org/llama.cpp/tree/master/tools/server: one slot, one answer; 503 while it loads. */
export const llamacpp = openAiLike({
  id: 'llamacpp',
  title: 'llama.cpp',
  baseUrl: 'http://127.0.0.1:8080/v1',
  local: true,
  forwards: { completions: '/completions', rerank: '/rerank' },
  embeds: { ...openAiEmbeddings, takesTokens: true, encoding: 'asked' },
  quirks: { systemFirst: true, nativeN: false, fits: [grammarSchemas, choiceInWords] },
  errors: [
    { code: 'exceed_context_size_error', class: 'too_long' },
    // The model wrote a call that is no JSON (github.com/ggml-org/llama.cpp/issues/22072).
    { status: 500, code: /failed to parse tool call/i, class: 'caller_fault' },
    { status: 503, code: 'unavailable_error', class: 'transient' },
  ],
  tooLong: [
    /request \((?<sent>\d+) tokens\) exceeds the available context size \((?<most>\d+) tokens\)/i,
    /\bexceed_context_size_error\b|exceeds the available context size|input is too large to process/i,
  ],
});
