import { type EmbeddingEngine, engineProvider } from '../engines/embedding-engine.ts';
import { builtInHedge } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { embeddingEngineTarget, soundEngineTarget } from './engine-target.ts';
import type { Alias } from './model-table.ts';

/** An engine that embeds, by its own name. */
export function embeddingEngineAlias(engine: Pick<EmbeddingEngine, 'model' | 'dimensions'>, createdS: number): Alias {
  const { dimensions } = engine;
  return { ...aliasOf('embedding', embeddingEngineTarget(engine), createdS), dimensions, listedDimensions: dimensions };
}

/** One that speaks, or writes down speech. */
export function soundEngineAlias(type: 'speech' | 'transcription', model: string, createdS: number): Alias {
  return aliasOf(type, soundEngineTarget({ model }), createdS);
}

function aliasOf(type: Alias['type'], target: Target, createdS: number): Alias {
  return {
    id: target.model,
    type,
    listedAs: type,
    tier: null,
    cost: 1,
    attempts: 1,
    hedge: builtInHedge,
    ownedBy: engineProvider,
    createdS,
    dimensions: null,
    listedDimensions: null,
    candidates: [{ target, rank: 0 }],
    totalMs: target.timeouts.totalMs,
  };
}
