import { jsonModeForSchema } from '../answer-forms.ts';
import { withSystemForDeveloper } from '../histories.ts';
import { openAiLike } from '../openai-like.ts';

/**
 * https://docs.z.ai/guides/develop/openai/python and /api-reference/api-code: GLM, also in Anthropic's format, outside
 * of the base URL. A 429 is a limit, an empty account or a locked one. The coding plan has
 * `https://api.z.ai/api/coding/paas/v4`.
 */
export const zai = openAiLike({
  id: 'zai',
  title: 'Z.ai (GLM)',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  envKey: 'ZAI_API_KEY',
  speaksToo: ['anthropic-messages'],
  paths: { responses: null, messages: { fromOrigin: '/api/anthropic/v1/messages' } },
  quirks: {
    history: withSystemForDeveloper,
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
    jsonSchema: false,
    fits: [jsonModeForSchema],
  },
  tooLong: [/prompt exceeds max(?:imum)? length/i],
  errors: [
    { status: 429, code: /balance|recharge|arrears/i, class: 'quota_exhausted' },
    { status: 429, code: /violation|locked|anomaly/i, class: 'bad_credential' },
    { status: 400, code: /unknown model/i, class: 'model_unavailable' },
    { status: 434, class: 'bad_credential' },
  ],
});
