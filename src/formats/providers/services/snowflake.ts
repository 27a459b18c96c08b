import { openAiLike } from '../openai-like.ts';

/**
 * https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api: the account is in the base URL,
 * `https://ACCOUNT.snowflakecomputing.com/api/v2/cortex/v1`; the key is a programmatic access token. Anthropic's format
 * is there for Claude's models alone.
 */
export const snowflake = openAiLike({
  id: 'snowflake',
  title: 'Snowflake Cortex',
  baseUrl: null,
  families: [{ pattern: /^claude-/, dialects: ['anthropic-messages', 'openai-chat'] }],
  paths: { models: null, responses: null },
});
