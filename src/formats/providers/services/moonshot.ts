import { listIn, objectIn } from '../../../kernel/json.ts';
import { thinkingDisabled, withoutThoughts } from '../forced-calls.ts';
import { inTurn, withoutThoughtsAlone, withSystemForDeveloper, withThoughtsBesideCalls } from '../histories.ts';
import { openAiLike } from '../openai-like.ts';

/**
 * https://platform.kimi.ai/docs/api/overview: Kimi's models in three formats, Anthropic's outside of the base URL.
 * China's platform is another one, with other keys: `base_url: https://api.moonshot.cn/v1`.
 */
export const moonshot = openAiLike({
  id: 'moonshot',
  title: 'Moonshot AI (Kimi)',
  baseUrl: 'https://api.moonshot.ai/v1',
  envKey: 'MOONSHOT_API_KEY',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  paths: { messages: { fromOrigin: '/anthropic/v1/messages' } },
  tooLong: [/exceeded model token limit: (?<most>\d+)(?: \(requested: (?<sent>\d+)\))?/i],
  // Its streams have it in their last choice.
  usageOf: ({ usage, choices }) => usage ?? objectIn(listIn(choices)[0]).usage,
  quirks: {
    history: inTurn(withSystemForDeveloper, withoutThoughtsAlone, withThoughtsBesideCalls),
    rename: { max_completion_tokens: 'max_tokens' },
    // "tool_choice 'required' is incompatible with thinking enabled".
    models: [
      { pattern: /^kimi-k2\.[56]/, fitsInChat: [withoutThoughts(thinkingDisabled)] },
      // "invalid temperature: only 1 is allowed for this model": their sampling is fixed.
      { pattern: /^kimi-k(2\.[5-9]|[3-9])/, omit: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] },
      // https://platform.kimi.ai/docs/api/chat
      { pattern: /^kimi-k3/, efforts: ['low', 'high', 'max'] },
    ],
    nativeN: false,
  },
});
