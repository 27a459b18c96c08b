import type { BatchFacts } from '../../../formats/providers/provider.ts';
import { anthropicBatches } from './anthropic-batches.ts';
import type { UpstreamBatches } from './batch-api.ts';
import { geminiBatches } from './gemini-batches.ts';
import { mistralBatches } from './mistral-batches.ts';
import { openAiBatches } from './openai-batches.ts';

export const upstreamBatches: Record<BatchFacts['format'], UpstreamBatches> = {
  openai: openAiBatches,
  anthropic: anthropicBatches,
  mistral: mistralBatches,
  gemini: geminiBatches,
};
