import { bedrockEmbeddings } from './bedrock.ts';
import { cohereEmbeddings } from './cohere.ts';
import { engineTexts } from './engine.ts';
import type { EmbeddingFormat, EmbeddingFormatId } from './format.ts';
import { geminiEmbeddings } from './gemini.ts';
import { ollamaEmbeddings } from './ollama.ts';
import { openAiEmbeddings } from './openai.ts';
import { teiEmbeddings } from './tei.ts';
import { vertexEmbeddings } from './vertex.ts';

/** Every format in which upstreams are asked for embeddings. */
export const embeddingFormats: Readonly<Record<EmbeddingFormatId, EmbeddingFormat>> = {
  openai: openAiEmbeddings,
  cohere: cohereEmbeddings,
  gemini: geminiEmbeddings,
  vertex: vertexEmbeddings,
  bedrock: bedrockEmbeddings,
  tei: teiEmbeddings,
  ollama: ollamaEmbeddings,
  engine: engineTexts,
};
