import type { EmbedOrder } from './child/embed-locally.ts';
import type { EmbeddingEngine } from './embedding-engine.ts';
import type { EngineChild } from './engine-child.ts';

/** Texts of one order: some seconds of work, after which another request has its turn. */
const textsMax = 16;

export interface ModelEmbeddingParts {
  model: string;
  dimensions: number;
  /** Throws why it cannot be asked yet. */
  ready(): void;
  child: EngineChild;
}

/** A model in a child process that makes vectors of texts. */
export function createModelEmbedding({ model, dimensions, ready, child }: ModelEmbeddingParts): EmbeddingEngine {
  return {
    model,
    dimensions,
    async embed(tenant, texts) {
      ready();
      const rows = new Float32Array(texts.length * dimensions);
      for (let start = 0; start < texts.length; start += textsMax) {
        const order: EmbedOrder = { texts: texts.slice(start, start + textsMax) };
        rows.set(await child.ask<Float32Array>(tenant, order), start * dimensions);
      }
      return rows;
    },
  };
}
