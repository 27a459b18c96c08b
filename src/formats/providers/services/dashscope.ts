import { isForced, withoutThoughts } from '../forced-calls.ts';
import { withSystemForDeveloper } from '../histories.ts';
import { openAiEmbeddings, openAiLike } from '../openai-like.ts';

const thinkingOff = { enable_thinking: false };

/**
 * https://www.alibabacloud.com/help/en/model-studio/error-code: Qwen by Alibaba's Model Studio, outside of China;
 * there it is `https://dashscope.aliyuncs.com/compatible-mode/v1`. Its 429s speak of quotas and mean those of a minute.
 */
export const dashscope = openAiLike({
  id: 'dashscope',
  title: 'DashScope (Qwen)',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  envKey: 'DASHSCOPE_API_KEY',
  // https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api
  embeds: { ...openAiEmbeddings, batch: 10, dimensions: /text-embedding-v[3-9]/ },
  // https://www.alibabacloud.com/help/en/model-studio/text-rerank-api: qwen3-rerank, in Cohere's form.
  forwards: { rerank: { fromOrigin: '/compatible-api/v1/reranks' } },
  quirks: {
    systemFirst: true,
    history: withSystemForDeveloper,
    rename: { max_completion_tokens: 'max_tokens' },
    // "The tool_choice parameter does not support being set to required or object in thinking mode".
    models: [
      { pattern: /^qwen3\.[5-9](?!.*thinking)/, fitsInChat: [withoutThoughts(thinkingOff)] },
      // "parameter.enable_thinking must be set to false for non-streaming calls"
      {
        pattern: /^qwen3-[\d.]+b(-a\d+b)?$/,
        fitsInChat: [withoutThoughts(thinkingOff, (body) => body.stream !== true || isForced(body))],
      },
    ],
  },
  tooLong: [/range of input length should be \[1, (?<most>\d+)\]/i],
  errors: [
    { code: /\barrearage\b/i, class: 'quota_exhausted' },
    { status: 429, class: 'rate_limited' },
  ],
});
