import { engineProvider } from '../engines/embedding-engine.ts';
import { lexicalDimensions, lexicalModel } from '../engines/lexical-embedding.ts';
import type { Target } from '../routing/target.ts';

/** A model of this process, as far as it can be named. */
export interface EngineModel {
  model: string;
  dimensions: number;
}

/** All that there are. */
export const engineModels: readonly EngineModel[] = [{ model: lexicalModel, dimensions: lexicalDimensions }];

/** All inputs that a request may have, in one call. */
const engineBatch = 2_048;

/** How long an engine of this process may take over one call. */
const engineTotalMs = 600_000;

/**
 * A model of this process as a target: always healthy to begin with, free of keys, and asked through no socket.
 * `source` may say what the configuration says of any other target.
 */
export function engineTarget(source: Partial<Target> & Pick<Target, 'model'>): Target {
  return {
    id: `${engineProvider}/${source.model}`,
    provider: engineProvider,
    priority: 1,
    weight: 1,
    dialect: 'openai-chat',
    credentials: [{ id: `${engineProvider}#0`, weight: 1, rpm: null }],
    capabilities: {
      vision: false,
      tools: false,
      reasoning: false,
      audioIn: false,
      logprobs: false,
      jsonSchema: false,
      nativeN: false,
    },
    timeouts: { connectMs: engineTotalMs, firstTokenMs: engineTotalMs, idleMs: engineTotalMs, totalMs: engineTotalMs },
    contextWindow: null,
    maxOutputTokens: null,
    price: { input: 0, output: 0, cachedInput: null },
    simulated: false,
    stream: false,
    embedding: {
      batch: engineBatch,
      batchTokens: null,
      takesTokens: false,
      dimensions: engineModels.find(({ model }) => model === source.model)?.dimensions ?? null,
      resizes: 'never',
      // Nobody else makes such vectors.
      space: `${engineProvider}/${source.model}`,
    },
    body: {},
    ...source,
  };
}
