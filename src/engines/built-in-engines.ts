import type { EmbeddingEngine } from './embedding-engine.ts';
import { createLexicalEmbedding } from './lexical-embedding.ts';

const engines: readonly EmbeddingEngine[] = [createLexicalEmbedding()];

/** Built-in embedding engines, by the model that targets name. They take memory at their first text. */
export const builtInEngines: ReadonlyMap<string, EmbeddingEngine> = new Map(
  engines.map((engine) => [engine.model, engine]),
);
