import { imagesOfXai } from '../image-models.ts';
import { openAiLike, openAiRealtime } from '../openai-like.ts';
import { withCost } from '../reported-cost.ts';

const ticksPerUsd = 10_000_000_000;

/** https://docs.x.ai/docs/api-reference */
export const xai = openAiLike({
  id: 'xai',
  title: 'xAI',
  prices: 'x-ai',
  baseUrl: 'https://api.x.ai/v1',
  envKey: 'XAI_API_KEY',
  quirks: {
    models: [
      // "Model grok-4-0709 does not support parameter reasoningEffort": they think as much as they like.
      { pattern: /^grok-(2|3(?!-mini)|4-(\d|fast)|4\.20(?!-multi)|code|build)/, omit: ['reasoning_effort'] },
      // docs.x.ai, "Reasoning": adding them results in an error. `stop` too, but leaving that out would change the answer.
      { pattern: /^grok-(4|3-mini)(?!.*non-reasoning)/, omit: ['presence_penalty', 'frequency_penalty'] },
    ],
  },
  forwards: { completions: '/completions' },
  images: imagesOfXai,
  usageOf: withCost(({ cost_in_usd_ticks: ticks }) => (typeof ticks === 'number' ? ticks / ticksPerUsd : undefined)),
  // Its reference has no WebRTC.
  realtime: { format: 'openai', pathOf: openAiRealtime.pathOf },
  tooLong: [/maximum prompt length is (?<most>\d+) but the request contains (?<sent>\d+) tokens/i],
  errors: [
    // A wrong key is a 400 here.
    { status: 400, code: /incorrect api key/i, class: 'bad_credential' },
    { status: 403, code: /credits|spending limit/i, class: 'quota_exhausted' },
    { status: 429, code: /credits|spending limit/i, class: 'quota_exhausted' },
  ],
});
