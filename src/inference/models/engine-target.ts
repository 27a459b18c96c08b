import { builtInData } from '../../config/data-rules.ts';
import { type EmbeddingEngine, engineProvider } from '../../engines/embedding-engine.ts';
import type { EmbeddingFacts } from '../../formats/embeddings/format.ts';
import { builtInHedge } from '../../routing/route.ts';
import { noCapabilities, type Target } from '../../routing/target.ts';
import type { Alias } from './alias.ts';

/** How engines of this process are asked: in calls that each take them some milliseconds. */
export const engineFacts: EmbeddingFacts = {
  format: 'engine',
  path: '',
  batch: 256,
  batchTokens: 65_536,
  takesTokens: false,
  dimensions: 'never',
};

/** A target for which an engine of this process makes vectors, instead of an upstream. */
export function embeddingEngineTarget({ model, dimensions }: Pick<EmbeddingEngine, 'model' | 'dimensions'>): Target {
  return {
    ...engineTarget(model, { stream: false }),
    embedding: {
      batch: engineFacts.batch,
      batchTokens: engineFacts.batchTokens ?? null,
      takesTokens: false,
      dimensions,
      resizes: 'never',
      space: `${engineProvider}/${model}`,
    },
  };
}

/** A target that an engine of this machine speaks or listens for. */
export function soundEngineTarget({ model }: { model: string }): Target {
  return engineTarget(model, { stream: true });
}

function engineTarget(model: string, { stream }: Pick<Target, 'stream'>): Target {
  return {
    id: `${engineProvider}/${model}`,
    provider: engineProvider,
    model,
    priority: 1,
    weight: 1,
    dialect: 'openai-chat',
    // One for each: while one is downloaded the others are there.
    credentials: [{ id: `${engineProvider}/${model}#0`, weight: 1, rpm: null }],
    capabilities: noCapabilities,
    timeouts: { connectMs: 3_000, firstTokenMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
    simulated: false,
    stream,
    body: {},
    data: builtInData,
  };
}

/** An engine that embeds, by its own name. */
export function embeddingEngineAlias(engine: Pick<EmbeddingEngine, 'model' | 'dimensions'>, createdS: number): Alias {
  const { dimensions } = engine;
  return {
    ...plainAlias('embedding', embeddingEngineTarget(engine), createdS),
    dimensions,
    listedDimensions: dimensions,
  };
}

/** One that speaks, or writes down speech. */
export function soundEngineAlias(type: 'speech' | 'transcription', model: string, createdS: number): Alias {
  return plainAlias(type, soundEngineTarget({ model }), createdS);
}

/** A model of one target that nothing is configured for. */
export function plainAlias(type: Alias['type'], target: Target, createdS: number): Alias {
  return {
    id: target.model,
    type,
    listedAs: type,
    tier: null,
    cost: 1,
    attempts: 1,
    hedge: builtInHedge,
    ownedBy: target.provider,
    createdS,
    dimensions: null,
    listedDimensions: null,
    candidates: [{ target, rank: 0 }],
    totalMs: target.timeouts.totalMs,
  };
}
