import type { Config } from '../config/schema.ts';

/** Everything that a caller can ask for, as the ledger names it, and which line of `costs` it is charged by. */
const costOf = {
  chat: 'chat',
  messages: 'messages',
  responses: 'responses',
  completions: 'chat',
  embeddings: 'embeddings',
  speech: 'speech',
  transcription: 'transcription',
  translation: 'transcription',
  image: 'image',
  'image-edit': 'image',
  vectors: 'vectors',
  search: 'search',
  scrape: 'scrape',
  'crawl-page': 'crawl_page',
  rerank: 1,
  map: 1,
  'count-tokens': 0,
  moderations: 0,
  models: 0,
  usage: 0,
  'crawl-status': 0,
} as const satisfies Record<string, keyof Config['costs'] | 0 | 1>;

export type Endpoint = keyof typeof costOf;

/**
 * What a call is charged, in milli-units: the endpoint's cost × the model's own (1 where no model answers) × `count`,
 * the images of an image call, the pages of a crawl. Attempts, fallbacks and the items of a batch cost nothing more.
 */
export function costMilliOf(costs: Config['costs'], endpoint: Endpoint, modelCost = 1, count = 1): number {
  const line = costOf[endpoint];
  const units = typeof line === 'number' ? line : costs[line];
  return Math.round(units * modelCost * 1_000) * count;
}
