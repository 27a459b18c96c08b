import { openAiLike } from '../openai-like.ts';

/**
 * https://dev.writer.com/api-reference and its own SDK (github.com/writer/writer-node): OpenAI's format at `/chat`,
 * without the fields that the SDK's request does not have.
 */
export const writer = openAiLike({
  id: 'writer',
  title: 'Writer',
  baseUrl: 'https://api.writer.com/v1',
  baseSuffixes: ['/chat'],
  envKey: 'WRITER_API_KEY',
  paths: { chat: '/chat', responses: null, messages: null },
  quirks: {
    omit: (
      'frequency_penalty presence_penalty logit_bias top_logprobs parallel_tool_calls service_tier ' +
      'store metadata user'
    ).split(' '),
    rename: { max_completion_tokens: 'max_tokens' },
    seed: false,
  },
});
