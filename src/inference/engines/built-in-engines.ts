import type { EmbeddingEngine } from './embedding-engine.ts';
import { createLexicalEmbedding } from './lexical-embedding.ts';

const engines: readonly EmbeddingEngine[] = [createLexicalEmbedding()];

/** What every Culvert embeds by itself, by the model that targets name it by. They take memory at their first text. */
export const builtInEngines: ReadonlyMap<string, EmbeddingEngine> = new Map(
  engines.map((engine) => [engine.model, engine]),
);
