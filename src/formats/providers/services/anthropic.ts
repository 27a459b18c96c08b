import { flatSchemas } from '../flat-schemas.ts';
import { openAiQuirks } from '../openai-like.ts';
import { claudeCaching } from '../prompt-caching.ts';
import type { Provider } from '../provider.ts';

/**
 * https://docs.anthropic.com/en/api. The converter decides what Messages can express; the quirks only tell routing what
 * a target of this provider can do.
 */
export const anthropic: Provider = {
  id: 'anthropic',
  title: 'Anthropic',
  prices: 'anthropic',
  dialect: 'anthropic-messages',
  baseUrl: 'https://api.anthropic.com/v1',
  baseSuffixes: ['/messages'],
  baseEnd: '/v1',
  auth: 'x-api-key',
  callers: {
    proofs: ['authorization', 'x-api-key'],
    passes: /^(user-agent|x-app|anthropic-dangerous-direct-browser-access|x-(claude-code|stainless)-[a-z-]{1,60})$/,
    hidden: /^x-claude-code-/,
    limits: /^anthropic-ratelimit-[a-z\d-]{1,80}$/,
  },
  envKey: 'ANTHROPIC_API_KEY',
  local: false,
  paths: { chat: '/messages', models: '/models?limit=1000' },
  headers: { 'anthropic-version': '2023-06-01' },
  quirks: { ...openAiQuirks, nativeN: false, logprobs: false, seed: false, fits: [flatSchemas] },
  promptCaching: claudeCaching,
  // https://platform.claude.com/docs/en/build-with-claude/batch-processing
  batches: {
    format: 'anthropic',
    urlOf: (path) => (path === '/messages' ? path : null),
    linesMax: 100_000,
    bytesMax: 256_000_000,
    priceShare: 0.5,
  },
  // Clients in their mode for Vertex AI write versions behind `@`.
  idOf: (model) => model.replace(/^(claude-.+)@default$/, '$1').replace(/^(claude-.+)@(\d{8})$/, '$1-$2'),
  // Its own errors are the dialect's.
  errors: [],
  tooLong: [
    /prompt is too long(?:: (?<sent>\d+) tokens > (?<most>\d+) maximum)?/i,
    /exceed context limit: \d+ \+ \d+ > \d+/i,
  ],
};
